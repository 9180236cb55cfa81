package acpsdk_test

// A session is open for the first request that the agent sends in it.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	"github.com/acpterm/acpterm/acptermtest"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// rawAgent is an agent's end of a connection to a client with terminals, as lines.
type rawAgent struct {
	t    testing.TB
	in   *bufio.Scanner
	out  io.Writer
	conn *acp.ClientSideConnection // the client's end
}

// connectRaw connects a client whose manager requires sessions and runs "x".
func connectRaw(t *testing.T, options func(*acpterm.Manager) *acpsdk.Options) (*rawAgent, *acpterm.Manager) {
	m := acptermtest.NewManager(t, &acpterm.Options{
		RequireSessions: true, Runner: acptermtest.Commands{"x": acptermtest.Print("", 0)},
	})
	w := newWires()
	c := &client{Terminals: acpsdk.New(m, options(m))}
	conn := c.Connect(&quietClient{Terminals: c.Terminals}, w.toAgent, w.fromAgent)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		w.toClient.Close()
		w.fromClient.Close()
		<-conn.Done()
		require.NoError(t, c.CloseTerminals())
	})
	return &rawAgent{t: t, in: bufio.NewScanner(w.fromClient), out: w.toClient, conn: conn}, m
}

// quietClient is a client that tells the test nothing.
type quietClient struct {
	*acpsdk.Terminals
	noFiles
}

// read returns the client's next message.
func (a *rawAgent) read() (m struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct{ Code int }
}) {
	a.t.Helper()
	require.True(a.t, a.in.Scan())
	require.NoError(a.t, json.Unmarshal(a.in.Bytes(), &m))
	return m
}

// write sends lines, all at once.
func (a *rawAgent) write(lines ...string) {
	a.t.Helper()
	_, err := io.WriteString(a.out, strings.Join(lines, "\n")+"\n")
	require.NoError(a.t, err)
}

func createLine(session string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"create","method":"terminal/create",`+
		`"params":{"sessionId":%q,"command":"x"}}`, session)
}

func sessionLine(id json.RawMessage, session string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":%q}}`, id, session)
}

// newSession has the client make a session, and returns when the agent has the request.
func (a *rawAgent) newSession(cwd string) (id json.RawMessage, result <-chan error) {
	done := make(chan error, 1)
	go func() {
		_, err := a.conn.NewSession(a.t.Context(), acp.NewSessionRequest{Cwd: cwd, McpServers: []acp.McpServer{}})
		done <- err
	}()
	m := a.read()
	require.Equal(a.t, "session/new", m.Method)
	return m.ID, done
}

// opening are options that open each session.
func opening(m *acpterm.Manager) *acpsdk.Options {
	return &acpsdk.Options{NewSession: func(s acpsdk.Session) { m.OpenSession(s.ID, nil) }}
}

// A create that is sent together with the answer to session/new is never refused.
func TestCreateRightAfterTheSession(t *testing.T) {
	a, _ := connectRaw(t, opening)
	refused := 0
	for i := range 200 {
		session := fmt.Sprint("session-", i)
		id, done := a.newSession("/")
		a.write(sessionLine(id, session), createLine(session))
		created := a.read()
		require.JSONEq(t, `"create"`, string(created.ID))
		if created.Error != nil {
			refused++
		}
		require.NoError(t, <-done)
	}
	require.Zero(t, refused)
}

// Each answer is for its own request, and what is no answer opens nothing.
func TestSessionsAreThoseThatWereAskedFor(t *testing.T) {
	var sessions []acpsdk.Session
	a, _ := connectRaw(t, func(*acpterm.Manager) *acpsdk.Options {
		return &acpsdk.Options{SessionPrefix: "p/", NewSession: func(s acpsdk.Session) { sessions = append(sessions, s) }}
	})
	one, oneDone := a.newSession("/one")
	two, twoDone := a.newSession("/two")
	a.write(
		`{"jsonrpc":"2.0","method":"_x","id":`+string(one)+`,"result":{"sessionId":"a request"}}`,
		`{"jsonrpc":"2.0","id":"`+string(one)+`","result":{"sessionId":"a string for an id"}}`,
		`{"jsonrpc":"2.0","id":77,"result":{"sessionId":"nobody asked"}}`,
		sessionLine(two, "2"), sessionLine(json.RawMessage(string(one)+".0"), "1"), sessionLine(one, "again"))
	a.read() // that there is no method _x
	require.NoError(t, <-oneDone)
	require.NoError(t, <-twoDone)
	require.Equal(t, []acpsdk.Session{{ID: "p/2", Cwd: "/two"}, {ID: "p/1", Cwd: "/one"}}, sessions)

	failed, failedDone := a.newSession("/failed")
	a.write(`{"jsonrpc":"2.0","id":` + string(failed) +
		`,"error":{"code":-32603,"message":"no"},"result":{"sessionId":"3"}}`)
	require.Error(t, <-failedDone)
	unnamed, unnamedDone := a.newSession("/unnamed")
	a.write(`{"jsonrpc":"2.0","id":` + string(unnamed) + `,"result":{}}`)
	<-unnamedDone
	require.Len(t, sessions, 2)

	done := make(chan error, 1)
	go func() {
		_, err := a.conn.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{
			Cwd: "/fork", AdditionalDirectories: []string{"/more"}, SessionId: "1",
		})
		done <- err
	}()
	a.write(sessionLine(a.read().ID, "4"))
	require.NoError(t, <-done)
	require.Equal(t, acpsdk.Session{ID: "p/4", Cwd: "/fork", AdditionalDirectories: []string{"/more"}}, sessions[2])
}

// A session that the hook did not open has no terminals, and nothing else depends on it.
func TestSessionThatIsNotOpened(t *testing.T) {
	for name, options := range map[string]func(*acpterm.Manager) *acpsdk.Options{
		"no hook": func(*acpterm.Manager) *acpsdk.Options { return nil },
		"opens nothing": func(*acpterm.Manager) *acpsdk.Options {
			return &acpsdk.Options{NewSession: func(acpsdk.Session) {}}
		},
		"a hook's panic": func(*acpterm.Manager) *acpsdk.Options {
			return &acpsdk.Options{NewSession: func(acpsdk.Session) { panic("oh") }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, m := connectRaw(t, options)
			id, done := a.newSession("/")
			a.write(sessionLine(id, "s"), createLine("s"))
			require.Equal(t, acpterm.CodeResourceNotFound, a.read().Error.Code)
			require.NoError(t, <-done)
			require.NoError(t, m.OpenSession("s", nil))
			a.write(createLine("s"))
			require.Nil(t, a.read().Error)
		})
	}
}
