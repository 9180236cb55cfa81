package conformance

// Shared parts of tests with ACP v2 peers: the state of a terminal in a client, and the messages on the wire.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
)

// held is the state of a terminal in a client, according to testdata/tsagent/fold.mjs.
type held struct {
	Command, Cwd *string
	Output       []byte // base64
	ExitStatus   *heldExit
	Size         *struct{ Cols, Rows int }
	Cancellable  bool
	Meta         map[string]json.RawMessage
}

// heldExit is the known part of a command's exit status.
type heldExit struct {
	ExitCode *int64
	Signal   *string
}

// requireHeld compares acpterm's state of a terminal with the state that a client must hold.
func requireHeld(t *testing.T, want held, got acpterm.TerminalInfo, output, what string) {
	t.Helper()
	require.True(t, got.Attached, what)
	require.Equal(t, textOf(want.Command), got.Command.String(), what)
	require.Equal(t, textOf(want.Cwd), got.Command.Dir, what)
	require.Equal(t, want.Size != nil, got.Size != nil, what)
	if want.Size != nil {
		require.Equal(t, acpterm.TerminalSize{Columns: want.Size.Cols, Rows: want.Size.Rows}, *got.Size, what)
	}
	require.Equal(t, want.Cancellable && want.ExitStatus == nil, got.Cancellable, what)
	require.ElementsMatch(t, keys(want.Meta), keys(got.Meta), what)
	for key, value := range want.Meta {
		require.JSONEq(t, string(value), string(got.Meta[key]), what)
	}
	shown, whole := shownText(want.Output), string([]rune(string(want.Output)))
	if want.ExitStatus == nil {
		require.Equal(t, acpterm.StateRunning, got.State, what)
		require.Equal(t, shown, output, what)
		return
	}
	require.Equal(t, acpterm.StateEnded, got.State, what)
	require.Contains(t, []string{shown, whole}, output, what) // more output may come, and finish a character
	require.Equal(t, want.ExitStatus.Signal, got.ExitStatus.Signal, what)
	code := want.ExitStatus.ExitCode
	require.Equal(t, code != nil, got.ExitStatus.ExitCode != nil, what)
	if code == nil {
		return
	}
	require.Equal(t, uint32(*code), *got.ExitStatus.ExitCode, what)
	var own struct{ ExitCode *int64 }
	require.NoError(t, json.Unmarshal(got.ExitStatus.Meta["acpterm"], &own))
	if *code == int64(uint32(*code)) {
		require.Nil(t, own.ExitCode, what)
	} else {
		require.Equal(t, code, own.ExitCode, what)
	}
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// shownText returns unfinished output without an incomplete character at its end.
func shownText(output []byte) string {
	for n := 1; n < utf8.UTFMax && n <= len(output); n++ {
		if end := output[len(output)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				output = output[:len(output)-n]
			}
			break
		}
	}
	return string([]rune(string(output)))
}

// message holds the checked parts of a message on the wire.
type message struct {
	JSONRPC string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   json.RawMessage
	raw     []byte
}

// messageLines passes on each message in the lines written to it.
type messageLines struct {
	take func(message)
	line []byte
}

func (l *messageLines) Write(p []byte) (int, error) {
	for piece := range bytes.Lines(p) {
		if l.line = append(l.line, piece...); !bytes.HasSuffix(l.line, []byte("\n")) {
			break
		}
		m := message{raw: bytes.TrimSpace(bytes.Clone(l.line))}
		if json.Unmarshal(m.raw, &m) != nil {
			m.Method = "not JSON"
		}
		l.take(m)
		l.line = l.line[:0]
	}
	return len(p), nil
}

// serveProgram starts a program of testdata/tsagent, and serves it with a Handler and next. take and give get its
// messages and those to it. It ends with the test, and must not complain.
func serveProgram(
	t *testing.T, h *acpterm.Handler, next jsonrpc2.Handler, take, give func(message), program string, args ...string,
) *jsonrpc2.Conn {
	t.Helper()
	cmd := typeScript(t, program, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdin, stdout := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
	require.NoError(t, cmd.Start())
	rest := h.Filter(context.Background(), agentproc.JoinStdio(struct {
		io.Reader
		io.Closer
	}{io.TeeReader(stdout, &messageLines{take: take}), stdout}, struct {
		io.Writer
		io.Closer
	}{io.MultiWriter(&messageLines{take: give}, stdin), stdin}))
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(rest), next)
	t.Cleanup(func() {
		stop := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer stop.Stop()
		conn.Close()
		<-conn.DisconnectNotify()
		require.NoError(t, h.Close())
		require.NoError(t, cmd.Wait())
		require.Empty(t, complaints.String(), "the SDK complained")
	})
	return conn
}

// typeScript returns a program of testdata/tsagent, not yet started.
func typeScript(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	node, path := requireTypeScript(t, program)
	return exec.Command(node, append([]string{path}, args...)...)
}
