package agent

// The beginning of the output, in addition to its end. This is an extension of package acpterm; other clients ignore
// it.

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/acpterm/acpterm"
)

// AskForHead makes a request ask for the first bytes of the output, up to the client's own limit, in addition to its
// end. Use ReadHead to get them. AskForHead replaces "acpterm" in the request's Meta.
func AskForHead(request *acpterm.CreateTerminalRequest, bytes int64) {
	request.Meta = maps.Clone(request.Meta)
	if request.Meta == nil {
		request.Meta = make(acpterm.Meta)
	}
	request.Meta["acpterm"] = fmt.Appendf(nil, `{"headBytes":%d}`, bytes)
}

// Head holds the beginning of the output.
type Head struct {
	// Text is valid UTF-8 and contains only whole characters. End is the offset after its last byte.
	Text string `json:"head"`
	End  int64  `json:"headEnd"`
	// OutputStart is the offset of TerminalOutputResponse.Output. If it is greater than End, the bytes in between are
	// missing.
	OutputStart int64 `json:"outputStart"`
}

// ReadHead returns the beginning of the output. It returns nil if the request did not ask for it (see AskForHead) or
// the client does not support the extension.
func ReadHead(response acpterm.TerminalOutputResponse) *Head {
	var read struct {
		Text *string `json:"head"`
		Head
	}
	if json.Unmarshal(response.Meta["acpterm"], &read) != nil || read.Text == nil {
		return nil
	}
	read.Head.Text = *read.Text
	return &read.Head
}
