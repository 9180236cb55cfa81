package acpsdk_test

// Options.NewSession is called before the agent's first request in a session.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	"github.com/acpterm/acpterm/acptermtest"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// rawAgent is the agent's side of a connection to a client. It reads and writes lines.
type rawAgent struct {
	t       testing.TB
	manager *acpterm.Manager
	client  *client
	in      *bufio.Scanner
	out     io.Writer
	conn    *acp.ClientSideConnection // the client's side
}

// connectRaw connects a client. Its manager requires sessions and can run "x".
func connectRaw(t *testing.T, options *acpsdk.Options) *rawAgent {
	w := newWires()
	m, c, conn := connectClient(t, settings{terminals: options, manager: acpterm.Options{
		RequireSessions: true, Runner: acptermtest.Commands{"x": acptermtest.Print("", 0)},
	}}, w)
	return &rawAgent{t: t, manager: m, client: c, in: bufio.NewScanner(w.fromClient), out: w.toClient, conn: conn}
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

// write sends all lines with a single write.
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

// newSession makes the client send session/new, and returns the request's id.
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

// A create sent together with the answer to session/new is never refused.
func TestCreateRightAfterTheSession(t *testing.T) {
	var a *rawAgent
	a = connectRaw(t, &acpsdk.Options{NewSession: func(s acpsdk.Session) { a.manager.OpenSession(s.ID, nil) }})
	for i := range 200 {
		session := fmt.Sprint("session-", i)
		id, done := a.newSession("/")
		a.write(sessionLine(id, session), createLine(session))
		created := a.read()
		require.JSONEq(t, `"create"`, string(created.ID))
		require.Nil(t, created.Error)
		require.NoError(t, <-done)
	}
}

// An answer creates the session of its own request. Other messages do not create sessions.
func TestSessionsOfAnswers(t *testing.T) {
	var sessions []acpsdk.Session
	a := connectRaw(t, &acpsdk.Options{
		SessionPrefix: "p/", NewSession: func(s acpsdk.Session) { sessions = append(sessions, s) },
	})
	one, oneDone := a.newSession("/one")
	two, twoDone := a.newSession("/two")
	a.write(
		`{"jsonrpc":"2.0","method":"_x","id":`+string(one)+`,"result":{"sessionId":"a request"}}`,
		`{"jsonrpc":"2.0","id":"`+string(one)+`","result":{"sessionId":"a string for an id"}}`,
		`{"jsonrpc":"2.0","id":77,"result":{"sessionId":"no request"}}`,
		sessionLine(two, "2"), sessionLine(json.RawMessage(string(one)+".0"), "1"), sessionLine(one, "again"))
	a.read() // the error for _x
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

// If the hook does not open a session, creates are refused until it is open.
func TestSessionThatIsNotOpened(t *testing.T) {
	for name, options := range map[string]*acpsdk.Options{
		"no hook":    nil,
		"idle hook":  {NewSession: func(acpsdk.Session) {}},
		"hook panic": {NewSession: func(acpsdk.Session) { panic("oh") }},
	} {
		t.Run(name, func(t *testing.T) {
			a := connectRaw(t, options)
			id, done := a.newSession("/")
			a.write(sessionLine(id, "s"), createLine("s"))
			require.Equal(t, -32002, a.read().Error.Code)
			require.NoError(t, <-done)
			require.NoError(t, a.manager.OpenSession("s", nil))
			a.write(createLine("s"))
			require.Nil(t, a.read().Error)
		})
	}
}
