package agent_test

// A client for tests. It applies the updates about terminals as ACP v2 says.

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/stretchr/testify/require"
)

// messagesVariable names a file. These tests append each message to it as a line, for internal/checks/conformance.
const messagesVariable = "ACPTERM_AGENT_MESSAGES"

// recordMessage appends a message to that file. def is the message's definition in the schema.
func recordMessage(t *testing.T, def string, message []byte) {
	name := os.Getenv(messagesVariable)
	if name == "" {
		return
	}
	line, err := json.Marshal(map[string]any{"definition": def, "message": json.RawMessage(message)})
	require.NoError(t, err)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = file.Write(append(line, '\n'))
	require.NoError(t, errors.Join(err, file.Close()))
}

// mirror is a client's state of a session's terminals. It outlives the client's connections.
type mirror struct {
	t         *testing.T
	mu        sync.Mutex
	terminals map[acpterm.TerminalID]*mirrored
	updates   []string // the tags of the updates
}

// mirrored is the state of a terminal. A nil field is unknown.
type mirrored struct {
	command, cwd *string
	output       []byte
	exit         *acpterm.TerminalExitStatus
	cancellable  bool
	snapshots    int
}

func newMirror(t *testing.T) *mirror {
	return &mirror{t: t, terminals: make(map[acpterm.TerminalID]*mirrored)}
}

// terminal returns a copy of a terminal's state.
func (m *mirror) terminal(id acpterm.TerminalID) mirrored {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.terminals[id] == nil {
		return mirrored{}
	}
	c := *m.terminals[id]
	c.output = bytes.Clone(c.output)
	return c
}

// forget forgets everything. It returns the only terminal.
func (m *mirror) forget() (was mirrored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Len(m.t, m.terminals, 1)
	for _, term := range m.terminals {
		was = *term
	}
	clear(m.terminals)
	m.updates = nil
	return was
}

// note adds a tag.
func (m *mirror) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates = append(m.updates, what)
}

// tags returns the tags of the updates so far.
func (m *mirror) tags() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.updates...)
}

// apply applies a session/update if it is about a terminal.
func (m *mirror) apply(params []byte) {
	var n struct {
		SessionID string
		Update    map[string]json.RawMessage
	}
	require.NoError(m.t, json.Unmarshal(params, &n))
	require.Equal(m.t, "s", n.SessionID)
	m.mu.Lock()
	defer m.mu.Unlock()
	tag := decode[string](m.t, n.Update["sessionUpdate"])
	m.updates = append(m.updates, tag)
	if tag != "terminal_update" && tag != "terminal_output_chunk" {
		return
	}
	id := decode[acpterm.TerminalID](m.t, n.Update["terminalId"])
	if m.terminals[id] == nil {
		m.terminals[id] = &mirrored{}
	}
	term := m.terminals[id]
	if tag == "terminal_output_chunk" {
		term.output = append(term.output, decodeBytes(m.t, n.Update["data"])...)
		return
	}
	for field, value := range n.Update {
		switch field {
		case "command":
			term.command = decode[*string](m.t, value)
		case "cwd":
			term.cwd = decode[*string](m.t, value)
		case "exitStatus":
			term.exit = decode[*acpterm.TerminalExitStatus](m.t, value)
		case "capabilities":
			term.cancellable = decode[map[string]json.RawMessage](m.t, value)["cancel"] != nil
		case "output":
			term.snapshots++
			term.output = decodeBytes(m.t, decode[map[string]json.RawMessage](m.t, value)["data"])
		}
	}
}

func decode[T any](t *testing.T, data []byte) (v T) {
	require.NoError(t, json.Unmarshal(data, &v), "%s", data)
	return v
}

func decodeBytes(t *testing.T, data []byte) []byte {
	raw, err := base64.StdEncoding.DecodeString(decode[string](t, data))
	require.NoError(t, err)
	return raw
}

// link is a connection to a mirror. It can stop reading.
type link struct {
	mirror *mirror
	broken context.Context
	cut    context.CancelFunc
	reads  chan struct{} // with an element while the link reads
}

var errCut = errors.New("the connection is cut")

// newLink returns a reading connection, and a Reporter over it.
func newLink(m *mirror, options *agent.ReporterOptions) (*link, *agent.Reporter) {
	l := &link{mirror: m, reads: make(chan struct{}, 1)}
	l.resume()
	l.broken, l.cut = context.WithCancel(context.Background())
	r := agent.NewReporter(options)
	r.Connect(l.notify)
	return l, r
}

// stall stops reading until resume.
func (l *link) stall() {
	select {
	case <-l.reads:
	default:
	}
}

func (l *link) resume() {
	select {
	case l.reads <- struct{}{}:
	default:
	}
}

func (l *link) notify(_ context.Context, method string, params any) error {
	require.Equal(l.mirror.t, "session/update", method)
	encoded, err := json.Marshal(params)
	require.NoError(l.mirror.t, err)
	select {
	case <-l.reads:
		l.resume()
	case <-l.broken.Done():
		return errCut
	}
	recordMessage(l.mirror.t, "UpdateSessionNotification", encoded)
	l.mirror.apply(encoded)
	return nil
}
