package main

// The whole host with real agents and real commands, both of which are the test binary itself.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/policy"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			child(os.Args[2:])
			return
		}
	}
	racetest.Restart()
	os.Exit(m.Run())
}

var children = map[string]func(args []string){
	"host":  func([]string) { os.Args = os.Args[1:]; main() },
	"agent": func([]string) { playAgent() },
	"die": func(args []string) {
		lines, _ := strconv.Atoi(args[0])
		for i := range lines {
			fmt.Fprintln(os.Stderr, "line", i)
		}
		os.Exit(3)
	},
	"where": func([]string) {
		dir, _ := os.Getwd()
		fmt.Println(filepath.Base(dir), os.Getenv("CI"), os.Getenv("SECRET"))
	},
	"stay": func(args []string) { // makes a file first
		os.WriteFile(args[0], fmt.Append(nil, os.Getpid()), 0o600)
		time.Sleep(time.Hour)
	},
	"leave": func(args []string) { // leaves a child that stays
		process, err := os.StartProcess(self(), []string{self(), "stay", args[0]}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err == nil {
			process.Release()
			time.Sleep(time.Hour)
		}
	},
}

// playAgent is an agent that calls its session what others call theirs, and whose prompts are the arguments for this program. It stops for the reason that the command printed.
func playAgent() {
	var caps acpterm.ClientCapabilities
	handle := func(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		switch req.Method {
		case "initialize":
			caps, _ = agent.ReadClientCapabilities(*req.Params)
			return struct{}{}, nil
		case "session/new":
			return map[string]string{"sessionId": "session-1"}, nil
		}
		var prompt struct {
			SessionID acpterm.SessionID `json:"sessionId"`
			Prompt    []struct{ Text string }
		}
		if err := json.Unmarshal(*req.Params, &prompt); err != nil {
			return nil, err
		}
		args := strings.Fields(prompt.Prompt[0].Text)
		r, err := agent.NewClient(conn, caps, nil).Run(ctx, acpterm.CreateTerminalRequest{
			SessionID: prompt.SessionID, Command: self(), Args: args,
		}, agent.RunOptions{Created: func(*agent.Terminal) {
			os.WriteFile(args[len(args)-1]+".created", nil, 0o600)
		}})
		if err != nil {
			return nil, err
		}
		return map[string]string{"stopReason": r.Output}, nil
	}
	stdio := agentproc.JoinStdio(os.Stdin, os.Stdout)
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio), jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(handle)))
	<-conn.DisconnectNotify()
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// newConfig has rules that let this program run as each command but "forbidden".
func newConfig(t *testing.T) config {
	rules := policy.Rules{Rules: []policy.Rule{
		{Name: "self", Verdict: acpterm.VerdictAllow, Program: self()},
		{Name: "forbidden", Verdict: acpterm.VerdictDeny, Reason: "not here", AnyArg: []string{"forbidden"}},
	}}
	data, err := json.Marshal(rules)
	require.NoError(t, err)
	c := config{state: t.TempDir(), rules: filepath.Join(t.TempDir(), "rules.json")}
	require.NoError(t, os.WriteFile(c.rules, data, 0o600))
	return c
}

// jobLines are jobs as they are read, each in a directory of its own, by their names and prompts.
func jobLines(t *testing.T, env map[string]string, prompts map[string]string) string {
	var lines strings.Builder
	for name, prompt := range prompts {
		dir := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, json.NewEncoder(&lines).Encode(job{Name: name, Dir: dir, Agent: []string{self(), "agent"}, Prompt: prompt, Env: env}))
	}
	return lines.String()
}

// results are what was said, by the jobs' names.
func results(t *testing.T, out []byte) map[string]result {
	all := make(map[string]result)
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var r result
		require.NoError(t, d.Decode(&r))
		all[r.Name] = r
	}
	return all
}

func auditOf(t *testing.T, c config) string {
	data, err := os.ReadFile(filepath.Join(c.state, "audit.json"))
	require.NoError(t, err)
	return string(data)
}

func TestManyAgents(t *testing.T) {
	t.Setenv("SECRET", "of the host")
	c := newConfig(t)
	var out bytes.Buffer
	require.NoError(t, serve(c, strings.NewReader(jobLines(t, map[string]string{"CI": "yes"},
		map[string]string{"a": "where", "b": "where", "c": "where forbidden"})), &out))
	all := results(t, out.Bytes())
	require.Equal(t, result{Name: "a", StopReason: "a yes \n"}, all["a"])
	require.Equal(t, result{Name: "b", StopReason: "b yes \n"}, all["b"])
	require.Contains(t, all["c"].Error, "not here")
	require.Len(t, all["c"].Denied, 1)
	denied := all["c"].Denied[0]
	require.Contains(t, denied.Command, "where forbidden")
	require.Equal(t, "forbidden: not here", denied.Rule+": "+denied.Reason)
	require.Equal(t, "exit code 0", all["c"].Agent.Status, "it ended when its input did")

	record := auditOf(t, c)
	require.Equal(t, 2, strings.Count(record, `"verdict":"allow","rule":"self"`), record)
	require.Equal(t, 1, strings.Count(record, `"verdict":"deny","rule":"forbidden"`), record)
	require.Equal(t, 2, strings.Count(record, `"endedBy":"finished"`), record)
	left, err := os.ReadDir(filepath.Join(c.state, "journal"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Of an agent that dies the result says how, and what it said last.
func TestAnAgentDies(t *testing.T) {
	c := newConfig(t)
	var jobs, out bytes.Buffer
	for name, agent := range map[string][]string{"dies": {self(), "die", "50"}, "missing": {"acpterm-no-such-agent"}} {
		j := job{Name: name, Dir: t.TempDir(), Agent: agent, Prompt: "x"}
		require.NoError(t, json.NewEncoder(&jobs).Encode(j))
	}
	require.NoError(t, serve(c, &jobs, &out))
	all := results(t, out.Bytes())
	require.Equal(t, "the agent ended before it was done", all["dies"].Error)
	require.Equal(t, "exit code 3", all["dies"].Agent.Status)
	require.Len(t, all["dies"].Agent.Stderr, maxStderr)
	require.Equal(t, "line 49", all["dies"].Agent.Stderr[maxStderr-1])
	require.Contains(t, all["missing"].Error, "command not found")
	require.Nil(t, all["missing"].Agent)
}

// An agent that is denied everything does not make the result grow.
func TestManyDenials(t *testing.T) {
	var r report
	for range 2 * maxDenied {
		r.event(&acpterm.DecisionEvent{Err: &acpterm.Error{Kind: acpterm.ErrDenied, Command: "x"}})
	}
	r.event(&acpterm.DecisionEvent{Err: &acpterm.Error{Kind: acpterm.ErrCancelled}})
	r.event(&acpterm.StartEvent{})
	require.Len(t, r.Denied, maxDenied)
}

func TestWhatIsNoJob(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, serve(newConfig(t), strings.NewReader("no\n"), &out), "not a job")
	require.NoError(t, serve(newConfig(t), strings.NewReader(`{"name": "x"}`+"\n"), &out))
	require.Contains(t, results(t, out.Bytes())["x"].Error, "names no agent")
}

// A job whose commands could move the audit does not run.
func TestAJobAroundTheState(t *testing.T) {
	c := newConfig(t)
	around := job{Name: "around", Agent: []string{self(), "agent"}}
	var jobs, out bytes.Buffer
	for _, dir := range []string{filepath.Dir(c.state), c.state} {
		around.Dir = dir
		require.NoError(t, json.NewEncoder(&jobs).Encode(around))
	}
	require.NoError(t, serve(c, &jobs, &out))
	require.Equal(t, 2, strings.Count(out.String(), "has the host's state in it"))
}

func TestRulesThatCannotBeRead(t *testing.T) {
	c := newConfig(t)
	require.NoError(t, os.WriteFile(c.rules, []byte(`{"rules": [{"name": "x", "verdict": "maybe"}]}`), 0o600))
	require.ErrorContains(t, serve(c, strings.NewReader(""), nil), "maybe")
	require.ErrorContains(t, serve(config{}, strings.NewReader(""), nil), "required")
}

// The agent's seventeenth command is refused, and told which quota it is.
func TestQuota(t *testing.T) {
	c := newConfig(t)
	h, err := newHost(t.Context(), c)
	require.NoError(t, err)
	m := must(acpterm.NewManager(&h.options))
	defer func() {
		require.NoError(t, m.Close())
		require.NoError(t, h.audit.Close())
	}()
	dir := t.TempDir()
	require.NoError(t, m.OpenSession("s", h.sessionOptions(job{Dir: dir})))
	create := func(i int) error {
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: self(),
			Args: []string{"stay", filepath.Join(dir, fmt.Sprint(i))}}, nil)
		return err
	}
	for i := range 16 {
		require.NoError(t, create(i))
	}
	err = create(16)
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "terminals", e.Quota)
}

// must is a value that is made without an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
