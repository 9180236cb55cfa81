package editor

// Sessions: each has the project's directory as its root.

import (
	"encoding/json"
	"log/slog"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

// newSession is what session/new says and answers, as far as it matters here.
type newSession struct {
	SessionID acpterm.SessionID `json:"sessionId"`
	Cwd       string            `json:"cwd"`
}

// openNewSession opens a session when the agent's answer to session/new arrives. It sees each message before the next
// one is read, so the session is open before the agent can ask for a terminal in it.
func (e *Editor) openNewSession(req *jsonrpc2.Request, answer *jsonrpc2.Response) {
	if req == nil || req.Method != "session/new" || req.Params == nil || answer == nil || answer.Result == nil {
		return
	}
	var s newSession
	err := json.Unmarshal(*req.Params, &s) // the project's directory, which we sent
	if err == nil {
		cwd := s.Cwd
		err = json.Unmarshal(*answer.Result, &s)
		s.Cwd = cwd
	}
	if err == nil {
		err = e.manager.OpenSession(s.SessionID, &acpterm.SessionOptions{Roots: []string{s.Cwd}})
	}
	if err != nil { // then its creates are refused, with -32002
		slog.Warn("the agent's session cannot have terminals", "error", err)
	}
}
