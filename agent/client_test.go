package agent_test

// Single calls: refusals, params, results and errors.

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func create(t *testing.T, c *agent.Client) *agent.Terminal {
	t.Helper()
	term, err := c.Create(t.Context(), request)
	require.NoError(t, err)
	return term
}

func TestMethodsNotAdvertisedAreNotSent(t *testing.T) {
	s := &scripted{}
	with(t, s, func(t *testing.T, _ *agent.Client, conn *jsonrpc2.Conn) {
		c := agent.NewClient(conn, acpterm.ClientCapabilities{},
			&agent.ClientOptions{SupportedMethods: []string{"fs/read_text_file", "terminal/create"}})
		_, err := c.Run(t.Context(), request, agent.RunOptions{})
		var refused *acpterm.CapabilityError
		require.ErrorAs(t, err, &refused)
		data, err := json.Marshal(refused)
		require.NoError(t, err)
		require.JSONEq(t, `{"method":"terminal/create","requiredCapability":"clientCapabilities.terminal",
			"declaredValue":false,"supportedMethods":["fs/read_text_file"]}`, string(data))
		require.Equal(t, int64(jsonrpc2.CodeMethodNotFound), acpterm.ResponseError(refused).Code)

		_, err = agent.NewClient(conn, acpterm.ClientCapabilities{}, nil).Create(t.Context(), request)
		require.ErrorAs(t, err, &refused)
		require.NotNil(t, refused.SupportedMethods)
		require.Empty(t, s.requests())
	})
}

func TestSupportedMethods(t *testing.T) {
	all := []string{"terminal/create", "terminal/resize", "fs/read_text_file", "terminal/release", "fs/write_text_file"}
	noTerminals := acpterm.ClientCapabilities{}
	for _, tt := range []struct {
		caps    acpterm.ClientCapabilities
		options *agent.ClientOptions
		want    []string
	}{
		{terminals, nil, []string{"terminal/create", "fs/read_text_file", "terminal/release", "fs/write_text_file"}},
		{noTerminals, nil, []string{"fs/read_text_file", "fs/write_text_file"}},
		{terminals, &agent.ClientOptions{SupportedMethods: []string{"fs/read_text_file"}},
			[]string{"terminal/create", "fs/read_text_file", "terminal/release"}},
		{noTerminals, &agent.ClientOptions{SupportedMethods: []string{"terminal/create"}}, []string{}},
	} {
		c := agent.NewClient(nil, tt.caps, tt.options)
		require.Equal(t, tt.want, c.FilterMethods(all))
		require.True(t, c.Supports(tt.want...))
		require.False(t, c.Supports(all...))
	}
	require.Equal(t, "terminal/resize", all[1], "the argument is not changed")
}

func TestParamsOnTheWire(t *testing.T) {
	s := &scripted{}
	with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
		term, err := c.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: "make", Args: []string{"all"}, OutputByteLimit: new(uint64(9)),
			Env: []acpterm.EnvVariable{{Name: "A", Value: "b"}}, Cwd: "/src",
		})
		require.NoError(t, err)
		require.Equal(t, acpterm.TerminalID("t1"), term.ID())
		require.Equal(t, acpterm.SessionID("s"), term.SessionID())
		_, err = term.Output(t.Context())
		require.NoError(t, err)
		require.NoError(t, term.Kill(t.Context()))
		_, err = term.Wait(t.Context())
		require.NoError(t, err)
		require.NoError(t, term.Release(t.Context()))
		require.JSONEq(t, `{"sessionId":"s","command":"make","args":["all"],"env":[{"name":"A","value":"b"}],"cwd":"/src",
			"outputByteLimit":9}`, string(s.params[acpterm.MethodCreate]))
		for _, method := range []string{acpterm.MethodOutput, acpterm.MethodKill, acpterm.MethodWaitForExit, acpterm.MethodRelease} {
			require.JSONEq(t, `{"sessionId":"s","terminalId":"t1"}`, string(s.params[method]), method)
		}
	})
}

func TestExitStatusIsReadLeniently(t *testing.T) {
	status := func(code *uint32, signal *string) *acpterm.TerminalExitStatus {
		return &acpterm.TerminalExitStatus{ExitCode: code, Signal: signal}
	}
	withMeta := status(new(uint32(1)), nil)
	withMeta.Meta = acpterm.Meta{"a": json.RawMessage("1")}
	for json, want := range map[string]*acpterm.TerminalExitStatus{
		`{"exitCode":0,"signal":null}`:           status(new(uint32(0)), nil),
		`{"exitCode":4294967295}`:                status(new(uint32(4294967295)), nil),
		`{"signal":"SIGTERM"}`:                   status(nil, new("SIGTERM")),
		`{}`:                                     status(nil, nil),
		`{"exitCode":-1,"signal":"SIGHUP"}`:      status(nil, new("SIGHUP")),
		`{"exitCode":"1","signal":9}`:            status(nil, nil),
		`{"exitCode":4294967296}`:                status(nil, nil),
		`{"exitCode":1.5}`:                       status(nil, nil),
		`{"ExitCode":1}`:                         status(nil, nil),
		`{"exitCode":1,"_meta":[]}`:              status(new(uint32(1)), nil),
		`{"exitCode":1,"_meta":{"a":1},"new":1}`: withMeta,
		`null`:                                   nil,
		`7`:                                      nil,
		`[]`:                                     nil,
	} {
		s := &scripted{results: map[string]string{
			acpterm.MethodOutput:      `{"output":"é","truncated":false,"exitStatus":` + json + `}`,
			acpterm.MethodWaitForExit: json,
		}, completes: true}
		with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
			term := create(t, c)
			out, err := term.Output(t.Context())
			require.NoError(t, err, json)
			require.Equal(t, acpterm.TerminalOutputResponse{Output: "é", ExitStatus: want}, out, json)
			got, err := term.Wait(t.Context())
			if want == nil {
				require.ErrorIs(t, err, agent.ErrBadResponse, json)
				return
			}
			require.NoError(t, err, json)
			require.Equal(t, *want, got, json)
		})
	}
}

// A client's answer to terminal/output reaches the agent with all fields.
func TestOutputHasEveryField(t *testing.T) {
	commands := acptermtest.Commands{"print": acptermtest.Print("a long text", 3)}
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: commands})
	c := acptermtest.Connect(t, acpterm.NewHandler(m, nil))
	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "print", OutputByteLimit: new(uint64(4))}
	agent.AskForHead(&request, 4)
	term, err := c.Create(t.Context(), request)
	require.NoError(t, err)
	_, err = term.Wait(t.Context())
	require.NoError(t, err)
	out, err := term.Output(t.Context())
	require.NoError(t, err)
	for _, field := range reflect.VisibleFields(reflect.TypeOf(out)) {
		require.NotZero(t, reflect.ValueOf(out).FieldByIndex(field.Index).Interface(), field.Name)
	}
	require.NoError(t, term.Release(t.Context()))

	result, err := c.Run(t.Context(), request, agent.RunOptions{})
	require.NoError(t, err)
	require.Equal(t, "text", result.Output)
	require.Equal(t, &agent.Head{Text: "a lo", End: 4, OutputStart: 7}, result.Head)
}

func TestMalformedResults(t *testing.T) {
	for method, results := range map[string][]string{
		acpterm.MethodCreate: {`null`, `{}`, `{"terminalId":null}`, `{"terminalId":1}`, `{"TerminalId":"t"}`, `"t"`},
		acpterm.MethodOutput: {`null`, `{}`, `{"output":"x"}`, `{"truncated":true}`, `{"output":1,"truncated":true}`,
			`{"output":"x","truncated":"no"}`, `{"output":null,"truncated":false}`},
	} {
		for _, result := range results {
			with(t, &scripted{results: map[string]string{method: result}}, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
				term, err := c.Create(t.Context(), request)
				if method == acpterm.MethodOutput {
					_, err = term.Output(t.Context())
				}
				require.ErrorIs(t, err, agent.ErrBadResponse, result)
				var e *agent.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, method, e.Method)
			})
		}
	}
}

func TestKindsOfErrors(t *testing.T) {
	for _, tt := range []struct {
		method string
		code   int64
		data   string
		is     error
	}{
		{acpterm.MethodOutput, -32002, `null`, acpterm.ErrTerminalNotFound},
		{acpterm.MethodOutput, -32002, `{"kind":"surprise"}`, acpterm.ErrTerminalNotFound},
		{acpterm.MethodOutput, -32002, `{"kind":"session_not_found"}`, acpterm.ErrSessionNotFound},
		{acpterm.MethodOutput, -32800, `7`, acpterm.ErrCancelled},
		{acpterm.MethodOutput, -32602, `{}`, acpterm.ErrInvalidParams},
		{acpterm.MethodOutput, -32601, `{"method":"terminal/output"}`, acpterm.ErrMethodNotFound},
		{acpterm.MethodOutput, -32603, `null`, acpterm.ErrInternal},
		{acpterm.MethodOutput, -1, `null`, nil},
		{acpterm.MethodCreate, -32002, `{"kind":"command_not_found"}`, acpterm.ErrCommandNotFound},
		{acpterm.MethodCreate, -32002, `null`, nil},
		{acpterm.MethodCreate, -32800, `{"kind":"quota"}`, acpterm.ErrQuota},
	} {
		answered := &jsonrpc2.Error{Code: tt.code, Message: "no", Data: new(json.RawMessage(tt.data))}
		s := &scripted{errors: map[string]*jsonrpc2.Error{tt.method: answered}}
		with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
			term, err := c.Create(t.Context(), request)
			if tt.method == acpterm.MethodOutput {
				_, err = term.Output(t.Context())
			}
			var e *agent.Error
			require.ErrorAs(t, err, &e)
			if tt.is == nil {
				require.Empty(t, e.Kind)
			} else {
				require.ErrorIs(t, err, tt.is)
			}
			var wire *jsonrpc2.Error
			require.ErrorAs(t, err, &wire)
			require.Equal(t, tt.code, wire.Code)
			require.Equal(t, wire, acpterm.ResponseError(err))
		})
	}
}

func TestErrorText(t *testing.T) {
	for text, e := range map[string]*agent.Error{
		`agent: m: terminal "t1": the client answered -32603: no`: {TerminalID: "t1", Err: &jsonrpc2.Error{Code: -32603, Message: "no"}},
		`agent: m: cancelled: context canceled`:                   {Kind: acpterm.ErrCancelled, Err: context.Canceled},
		`agent: m: terminal "t1": terminal not found`:             {TerminalID: "t1", Kind: acpterm.ErrTerminalNotFound},
		`agent: m: jsonrpc2: connection is closed`:                {Err: jsonrpc2.ErrClosed},
	} {
		e.Method = "m"
		require.EqualError(t, e, text)
	}
}

func TestReleasedTerminalRefuses(t *testing.T) {
	s := &scripted{faults: map[string]fault{acpterm.MethodRelease: slow}}
	with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
		term := create(t, c)
		ended, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, term.Release(ended), acpterm.ErrCancelled, "its answer is pending")
		_, err := term.Output(t.Context())
		require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
		_, err = term.Wait(t.Context())
		require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
		require.ErrorIs(t, term.Kill(t.Context()), acpterm.ErrTerminalNotFound)
		begin := time.Now()
		require.NoError(t, term.Release(t.Context()), "the answer to the first")
		require.Equal(t, delay, time.Since(begin))
		require.NoError(t, term.Release(t.Context()))
		require.Equal(t, "create release", s.requests())
	})
}

func TestWaitIsCancelled(t *testing.T) {
	s := &scripted{}
	with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
		term := create(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := term.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, acpterm.ErrCancelled)
		synctest.Wait()
		require.Equal(t, 1, s.cancels)
		var cancelled agent.CancelRequestNotification
		require.NoError(t, json.Unmarshal(s.params["$/cancel_request"], &cancelled))
		require.Regexp(t, `^"terminal-[A-Z2-7]{8}-2"$`, string(cancelled.RequestID))

		_, err = term.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "create wait_for_exit", s.requests(), "a request is not sent after its context has ended")
		require.NoError(t, term.Kill(t.Context()))
	})
}

// While the client does not read, calls return when their contexts end. Of the queued requests, only the release is
// sent.
func TestClientThatDoesNotRead(t *testing.T) {
	var resume chan struct{}
	s := &scripted{}
	s.on = func(method string) {
		if method == acpterm.MethodKill {
			<-resume
		}
	}
	with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
		resume = make(chan struct{})
		term := create(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 20 {
			require.ErrorIs(t, term.Kill(ctx), context.DeadlineExceeded)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 20 {
			go term.Output(ctx)
		}
		synctest.Wait()
		require.ErrorIs(t, term.Release(ctx), context.DeadlineExceeded)
		synctest.Wait()
		close(resume)
		require.NoError(t, term.Release(t.Context()))
		require.Regexp(t, "^create kill( output)? release$", s.requests(), "an output may have been half written")
	})
}

// Use releases the terminal after the end of its context, and waits for the answer for the grace.
func TestUseReleases(t *testing.T) {
	s := &scripted{faults: map[string]fault{acpterm.MethodRelease: noReply}}
	with(t, s, func(t *testing.T, _ *agent.Client, conn *jsonrpc2.Conn) {
		c := agent.NewClient(conn, terminals, &agent.ClientOptions{Grace: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		err := c.Use(ctx, request, func(*agent.Terminal) error {
			cancel()
			return io.ErrUnexpectedEOF
		})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "no answer within 1h0m0s")
		require.Equal(t, time.Hour, time.Since(begin))
		require.Equal(t, "create release", s.requests())
	})
}

func TestRequestThatIsNotJSON(t *testing.T) {
	with(t, &scripted{}, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
		_, err := c.Create(t.Context(), acpterm.CreateTerminalRequest{Meta: acpterm.Meta{"a": json.RawMessage("{")}})
		require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	})
}

// The client has closed its standard input but not its standard output.
func TestConnectionThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agentIn, clientOut := io.Pipe()
		clientIn, agentOut := io.Pipe()
		require.NoError(t, clientIn.Close())
		conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentproc.JoinStdio(agentIn, agentOut)), nil)
		_, err := agent.NewClient(conn, terminals, nil).Create(t.Context(), request)
		require.ErrorIs(t, err, jsonrpc2.ErrClosed)
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.NoError(t, conn.Close())
		require.NoError(t, clientOut.Close())
	})
}
