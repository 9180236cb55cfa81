package main

// The agent started by the client. It answers the client's requests, and runs the checks when it gets a prompt. It
// writes its results to a file, because its standard output is the connection.

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/checks"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

// agentMark, as the first of two arguments, makes the program the agent. The second argument is the directory of the
// files.
const agentMark = "-as-agent"

// The files in that directory.
const (
	planFile    = "plan.json"
	resultsFile = "results.jsonl" // one record per line
)

// plan is the agent's task.
type plan struct {
	IDs     []string                  // of the checks
	Unmet   map[string]checks.Outcome // of checks that did not pass in an earlier connection
	Timeout time.Duration             // of each
	Until   time.Time                 // for all of them
	Dir     string                    // for the commands' files
}

// record is a line of the results. One of its fields is set.
type record struct {
	Client *clientInfo    `json:"client,omitempty"` // the client has sent initialize
	Begun  string         `json:"begun,omitempty"`  // the check with this id begins
	Result *checks.Result `json:"result,omitempty"` // a check has ended
	Done   bool           `json:"done,omitempty"`   // all checks have ended, and the prompt was answered
}

// clientInfo is a client's description of itself (schema type InitializeRequest).
type clientInfo struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Terminal bool   `json:"terminal"` // it claims to serve terminal/*
}

// agent is the agent's end of a connection.
type agent struct {
	plan    plan
	conn    *rpc.Conn
	results io.Writer
	turn    sync.WaitGroup // the prompt's turn

	// Used by the reading goroutine only.
	client  clientInfo
	cwd     string
	prompts int
}

// serveAgent runs the agent on a connection until the client closes it.
func serveAgent(dir string, in io.Reader, out io.Writer) error {
	var a agent
	text, err := os.ReadFile(filepath.Join(dir, planFile))
	if err == nil {
		err = json.Unmarshal(text, &a.plan)
	}
	if err != nil {
		return err
	}
	results, err := os.OpenFile(filepath.Join(dir, resultsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer results.Close()
	a.results = results
	a.conn = rpc.NewConn(out, a.handle)
	a.conn.Read(in)
	a.turn.Wait()
	return nil
}

func (a *agent) record(r record) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // a Result is text
	}
	a.results.Write(append(line, '\n'))
}

// handle answers the client's requests.
func (a *agent) handle(r rpc.Request) {
	switch r.Method {
	case "initialize":
		var p struct {
			ClientInfo         struct{ Name, Version string }
			ClientCapabilities struct{ Terminal bool }
		}
		json.Unmarshal(r.Params, &p) // a missing member counts as absent
		a.client = clientInfo{p.ClientInfo.Name, p.ClientInfo.Version, p.ClientCapabilities.Terminal}
		a.record(record{Client: &a.client})
		a.conn.Reply(r, rpc.Object{
			"protocolVersion": 1, "agentCapabilities": rpc.Object{}, "authMethods": []any{},
			"agentInfo": rpc.Object{"name": "acp-terminal-check", "version": "1"},
		}, nil)
	case "session/new":
		var p struct{ Cwd string }
		json.Unmarshal(r.Params, &p)
		a.cwd = p.Cwd
		a.conn.Reply(r, rpc.Object{"sessionId": sessionID}, nil)
	case "session/prompt":
		if a.prompts++; a.prompts > 1 || !a.client.Terminal {
			a.conn.Reply(r, rpc.Object{"stopReason": "end_turn"}, nil)
			return
		}
		place := checks.Place{
			Conn: a.conn, Session: sessionID, Cwd: a.cwd, Dir: a.plan.Dir, Timeout: a.plan.Timeout, Until: a.plan.Until,
		}
		a.turn.Go(func() {
			a.check(place)
			a.conn.Reply(r, rpc.Object{"stopReason": "end_turn"}, nil)
			a.record(record{Done: true})
		})
	default:
		a.conn.Reply(r, nil, &rpc.Error{Code: -32601, Message: "the agent does not have " + r.Method})
	}
}

const sessionID = "acp-terminal-check"

// check runs the checks of the plan until the connection ends.
func (a *agent) check(place checks.Place) {
	self, err := os.Executable()
	place.Program = self
	runner := checks.NewRunner(place, a.plan.Unmet)
	for _, c := range checks.All() {
		select {
		case <-a.conn.Closed():
			return
		default:
		}
		if !slices.Contains(a.plan.IDs, c.ID) {
			continue
		}
		a.record(record{Begun: c.ID})
		result := checks.Result{ID: c.ID, Outcome: checks.Trouble}
		if err != nil {
			result.Reason = err.Error()
		} else {
			result = runner.Run(c)
		}
		a.record(record{Result: &result})
	}
}
