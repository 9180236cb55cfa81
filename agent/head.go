package agent

// The beginning of the output, in addition to its end. This is an extension of package acpterm; other clients ignore
// it.

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/acpterm/acpterm"
)

// AskForHead modifies a request to ask for the first bytes of the output in addition to its end. The client may impose
// a lower limit. Use ReadHead to get them from the response. AskForHead replaces "acpterm" in the request's Meta.
func AskForHead(request *acpterm.CreateTerminalRequest, bytes int64) {
	request.Meta = maps.Clone(request.Meta)
	if request.Meta == nil {
		request.Meta = make(acpterm.Meta)
	}
	request.Meta["acpterm"] = fmt.Appendf(nil, `{"headBytes":%d}`, bytes)
}

// Head is the beginning of a command's output.
type Head struct {
	// Text is valid UTF-8 and never ends within a character. End is the offset just after its last byte.
	Text string `json:"head"`
	End  int64  `json:"headEnd"`
	// OutputStart is the offset at which TerminalOutputResponse.Output begins. If it is greater than End, the bytes in
	// between are missing.
	OutputStart int64 `json:"outputStart"`
}

// ReadHead returns the beginning of the output from a response. It returns nil if it was not requested with AskForHead
// or if the client does not support the extension.
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
