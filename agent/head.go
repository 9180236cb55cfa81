package agent

// The beginning of the output, in addition to its end. This is an extension of package acpterm; other clients ignore
// it.

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/acpterm/acpterm"
)

// AskForHead modifies request so that it asks for the first bytes of the output in addition to the last ones. To get
// the first bytes from the response, use ReadHead. Note that the client may impose a lower limit. If the request's Meta
// already contains an "acpterm" key, its value is replaced.
func AskForHead(request *acpterm.CreateTerminalRequest, bytes int64) {
	request.Meta = maps.Clone(request.Meta)
	if request.Meta == nil {
		request.Meta = make(acpterm.Meta)
	}
	request.Meta["acpterm"] = fmt.Appendf(nil, `{"headBytes":%d}`, bytes)
}

// Head is the beginning of a command's output.
type Head struct {
	// Text is valid UTF-8 and is never truncated in the middle of a character. End is the offset where Text ends.
	Text string `json:"head"`
	End  int64  `json:"headEnd"`
	// OutputStart is the offset where TerminalOutputResponse.Output starts. If it is greater than End, the bytes
	// between End and OutputStart have been lost.
	OutputStart int64 `json:"outputStart"`
}

// ReadHead returns the beginning of the output, as contained in a response. It returns nil if AskForHead was not used
// to request the beginning of the output, if the client does not support this extension, or if the beginning did not
// fit in the line.
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
