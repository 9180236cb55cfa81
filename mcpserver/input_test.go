//go:build unix

package mcpserver

// Input to commands on a PTY.

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/policy"
)

// consenting is options of a host that allows commands with input.
func consenting() *Options { return &Options{Input: acpterm.Policies{}} }

func TestWriteAnswersAPrompt(t *testing.T) {
	s := connect(t, newServer(t, nil, consenting()), nil)
	r, _ := call[commandResult](t, s, "run", object{
		"command": `stty -echo; printf 'continue [y/n]? '; read answer; printf "got $answer"; exit 7`,
		"pty":     true, "wait_ms": 0,
	})
	w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "until": "[y/n]", "offset": 0})
	require.Equal(t, "continue [y/n]? ", w.Output)
	w, text := call[commandResult](t, s, "write", object{"id": r.ID, "text": "yes\n", "wait_ms": 60_000})
	require.Equal(t, "continue [y/n]? got yes", w.Output)
	w, _ = call[commandResult](t, s, "wait", object{"id": r.ID})
	require.Equal(t, uint32(7), *w.ExitCode, text)
	require.Contains(t, fails(t, s, "write", object{"id": r.ID, "text": "more"}), "the command has ended")
}

// A result has the lines that have changed since the latest one, so that a long conversation stays short.
func TestWriteReturnsWhatHasChanged(t *testing.T) {
	s := connect(t, newServer(t, nil, consenting()), nil)
	r, _ := call[commandResult](t, s, "run", object{
		"command": `stty -echo; seq 100; printf '> '; while read line; do printf "<$line>\n> "; done; printf over`,
		"pty":     true, "wait_ms": 0,
	})
	w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "until": "> ", "offset": 0})
	require.True(t, strings.HasSuffix(w.Output, "99\n100\n> "), w.Output)
	for _, word := range []string{"one", "two"} {
		w, _ = call[commandResult](t, s, "write", object{"id": r.ID, "text": word + "\n", "wait_ms": 60_000})
		require.Equal(t, "> <"+word+">\n> ", w.Output)
	}
	again, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": int64(1) << 60})
	require.Empty(t, again.Output)
	w, _ = call[commandResult](t, s, "write", object{"id": r.ID, "keys": []string{"ctrl-d"}, "wait_ms": 60_000})
	require.Equal(t, "> over", w.Output)
	whole, _ := call[commandResult](t, s, "output", object{"id": r.ID})
	require.Contains(t, whole.Output, "100\n> <one>\n> <two>\n")
}

func TestKeysAreSentAsATerminalDoes(t *testing.T) {
	for name, sent := range map[string]string{
		"enter": "\r", "Tab": "\t", "esc": "\x1b", "up": "\x1b[A", "ctrl-c": "\x03", "Ctrl+D": "\x04", "^Z": "\x1a",
		"c-x": "\x18", "alt-b": "\x1bb", "q": "q", "é": "é", "page up": "\x1b[5~", "ctrl-space": "\x00", "ctrl-\\": "\x1c",
		"ctrl--": "\x1f", "f12": "\x1b[24~", "shift-tab": "\x1b[Z",
	} {
		typed, err := keystrokes("a\r\nb\n", []string{name, "enter"})
		require.NoError(t, err)
		require.Equal(t, "a\rb\r"+sent+"\r", typed)
	}
	for _, name := range []string{"", "ctrl-", "ctrl-é", "alt-", "hyper-x", "\xff", "ctrl-1"} {
		_, err := keystrokes("", []string{name})
		require.ErrorContains(t, err, "there is no key", name)
	}
}

func TestOnlyCommandsWithInputCanBeWrittenTo(t *testing.T) {
	s := connect(t, newServer(t, nil, consenting()), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": "sleep 1000", "wait_ms": 0})
	require.Contains(t, fails(t, s, "write", object{"id": r.ID, "text": "x"}), "run it again with pty")
	onPTY := newServer(t, nil, &Options{
		Session: &acpterm.SessionOptions{Commands: acpterm.CommandOptions{PTY: &acpterm.PTYOptions{}}},
	})
	s = connect(t, onPTY, nil) // the host's PTY is not for the model
	r, _ = call[commandResult](t, s, "run", object{"command": "sleep 1000", "wait_ms": 0})
	require.Contains(t, fails(t, s, "write", object{"id": r.ID, "text": "x"}), "run it again with pty")

	elsewhere := newServer(t, &acpterm.Options{Runner: acptermtest.Commands{"*": acptermtest.Block}}, consenting())
	require.Contains(t, fails(t, connect(t, elsewhere, nil), "run", object{"command": "x", "pty": true}), "without pty")
}

// A command that does not read its input does not keep the session.
func TestWriteToACommandThatDoesNotRead(t *testing.T) {
	server := newServer(t, quick(), consenting())
	s := connect(t, server, nil)
	r, _ := call[commandResult](t, s, "run", object{
		"command": "stty raw -echo; echo ready; sleep 1000", "pty": true, "wait_ms": 0,
	})
	call[commandResult](t, s, "wait", object{"id": r.ID, "until": "ready"})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{
			Name: "write", Arguments: object{"id": r.ID, "text": strings.Repeat("x", 1<<19)},
		})
		failed <- err
	}()
	terminal := server.manager.Terminals()[0]
	writing := writingTo(server, terminal)
	require.Eventually(t, func() bool { return len(writing) == 1 }, time.Minute, time.Millisecond)
	require.Contains(t, fails(t, s, "write", object{"id": r.ID, "text": "x"}), "has not read what was written before")
	cancel()
	require.Error(t, <-failed)
	require.NoError(t, s.Close())
	<-terminal.Released()
}

func TestWriteToAPipe(t *testing.T) {
	s := connect(t, newServer(t, nil, consenting()), nil)
	r, _ := call[commandResult](t, s, "run", object{
		"command": `read line; printf "got $line"; exec sort`, "stdin": true, "wait_ms": 0,
	})
	require.Contains(t, fails(t, s, "write", object{"id": r.ID}), "both empty")
	require.Contains(t, fails(t, s, "write", object{"id": r.ID, "keys": []string{"up"}}), "needs a PTY")
	w, _ := call[commandResult](t, s, "write", object{
		"id": r.ID, "text": "one", "keys": []string{"enter"}, "wait_ms": 60_000,
	})
	require.Equal(t, "got one", w.Output)
	w, _ = call[commandResult](t, s, "write", object{"id": r.ID, "text": "b\na\n", "close": true, "wait_ms": 60_000})
	require.Equal(t, "a\nb\n", w.Output)
	require.Contains(t, fails(t, s, "write", object{"id": r.ID, "text": "more"}), "the command has ended")
	require.Contains(t, fails(t, s, "run", object{"command": "cat", "pty": true, "stdin": true}), "either")

	r, _ = call[commandResult](t, s, "run", object{"command": "cat >/dev/null; echo over", "stdin": true, "wait_ms": 0})
	w, _ = call[commandResult](t, s, "write", object{"id": r.ID, "keys": []string{"ctrl-d"}, "wait_ms": 60_000})
	require.Equal(t, "over\n", w.Output)
	denying := connect(t, newServer(t, nil, nil), nil)
	require.Contains(t, fails(t, denying, "run", object{"command": "true", "stdin": true}), `(rule "input")`)
}

// writingTo returns the channel that has an element while the only session of a Server writes to a terminal.
func writingTo(s *Server, t *acpterm.Terminal) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.sessions {
		return c.command(t).writing
	}
	return nil
}

// Commands with input are asked about whatever the policies allow, and denied if there is no one to ask.
func TestInputNeedsConsent(t *testing.T) {
	allow := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "all"}
	})
	for name, options := range map[string]*acpterm.Options{
		"no policy": nil, "a policy": {Policy: allow}, "a client that cannot ask": {Policy: allow, Approve: AskClient},
	} {
		s := connect(t, newServer(t, options, &Options{Session: &acpterm.SessionOptions{Policy: allow}}), nil)
		require.Contains(t, fails(t, s, "run", object{"command": "true", "pty": true}), `(rule "input")`, name)
		call[commandResult](t, s, "run", object{"command": "true"})
	}
	s := connect(t, newServer(t, nil, &Options{Input: deny}), nil)
	fails(t, s, "run", object{"command": "true", "pty": true})
	unknown := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: 9}
	})
	s = connect(t, newServer(t, nil, &Options{Input: unknown}), nil)
	fails(t, s, "run", object{"command": "true", "pty": true})
	// A host's consent does not outweigh its rules.
	s = connect(t, newServer(t, &acpterm.Options{Policy: deny}, consenting()), nil)
	fails(t, s, "run", object{"command": "true", "pty": true})
}

// The user's answer about a command does not apply to the same command with input.
func TestApprovalDoesNotIncludeInput(t *testing.T) {
	var approvals policy.Approvals
	options := asking()
	options.Policy, options.Approve = approvals.Policy(options.Policy), approvals.Approve(AskClient)
	for _, version := range versions {
		var asked []string
		client := answers(func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked = append(asked, p.Message)
			return &mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_session"}}, nil
		})
		s := connect(t, newServer(t, options, nil), client, version)
		for _, pty := range []bool{false, true, true, false} {
			call[commandResult](t, s, "run", object{"command": "true", "pty": pty})
		}
		require.Len(t, asked, 2)
		require.NotContains(t, asked[0], "typed into")
		require.Contains(t, asked[1], "typed into")
	}
}
