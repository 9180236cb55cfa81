package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/checks"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

// The test binary is the kit, its agent, its commands, and the clients.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each process of the race detector's lives a second longer
	switch args := os.Args[1:]; {
	case len(args) == 0: // as a command without arguments
		os.Exit(exitUsage)
	case args[0] == child.Mark, args[0] == agentMark:
		os.Exit(run(args, os.Stdout, os.Stderr))
	case args[0] == clientMark:
		if err := runClient(args[1], args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runKit runs the kit for a client with this fault.
func runKit(t *testing.T, fault string, flags ...string) (status int, stdout, stderr string) {
	self, err := os.Executable()
	require.NoError(t, err)
	var out, errors bytes.Buffer
	status = run(append(flags, "--", self, clientMark, fault), &out, &errors)
	return status, out.String(), errors.String()
}

// failed are the ids of the checks that failed, of a report as JSON.
func failed(t *testing.T, text string) (ids []string) {
	var r report
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	for _, each := range r.Results {
		if each.Outcome == checks.Fail {
			ids = append(ids, each.ID)
		}
		require.NotEqual(t, checks.Trouble, each.Outcome, each.Reason)
	}
	return ids
}

func TestClientWithoutFaults(t *testing.T) {
	dir := t.TempDir() // is removed with an error if something uses it still
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // on Windows
	status, out, errors := runKit(t, "", "-v", "-timeout", "30s")
	require.Equal(t, exitPassed, status, "%s\n%s", out, errors)
	require.Contains(t, out, "test 7\n")
	require.Contains(t, out, "pass  close.ends: ")
	require.Equal(t, len(checks.All()), strings.Count(out, "\npass  ")+strings.Count(out, "\nnot applicable "))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Each fault fails the checks of the promises that it breaks, and no others. The others have the time that a busy machine
// needs; those that fail do so, for the most part, when their time is over.
func TestFaults(t *testing.T) {
	type outcome struct {
		status      int
		out, errors string
	}
	faults := map[string][]string{
		"cuts characters": {"limit.character", "limit.filled"},
		"ignores the limit": {
			"limit.end", "limit.truncated", "limit.running", "limit.character", "limit.bytes", "limit.filled", "limit.zero",
			"limit.flood",
		},
		"waits for the output": {"wait.background", "kill.background", "release.background", "cancel.answered"},
		"waits in order": {
			"wait.pending", "wait.concurrent", "kill.pending", "release.pending", "cancel.wait", "cancel.answered",
		},
		"kills one process":   {"kill.gentle", "kill.tree", "kill.background"},
		"logs to the agent":   {"rpc.messages"},
		"only forgets":        {"release.kills", "release.tree", "release.background", "release.pending"},
		"asks for no session": {"session.other"},
		"uses a shell":        {"create.args"},
		"answers for any id": {
			"release.invalid.output", "release.invalid.wait_for_exit", "release.invalid.kill", "unknown.id", "unknown.code",
			"session.other",
		},
	}
	var mu sync.Mutex
	broken, kept := make(map[string]outcome), make(map[string]outcome)
	var all sync.WaitGroup
	atOnce := make(chan struct{}, 2) // much of the time they wait
	for fault, ids := range faults {
		if !child.Signals {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == "kill.gentle" })
			faults[fault] = ids
		}
		var others []string
		for _, c := range checks.All() {
			if !slices.Contains(ids, c.ID) {
				others = append(others, c.ID)
			}
		}
		start := func(outcomes map[string]outcome, ids []string, timeout string) {
			all.Go(func() {
				atOnce <- struct{}{}
				defer func() { <-atOnce }()
				status, out, errors := runKit(t, fault, "-json", "-timeout", timeout, "-run", oneOf(ids))
				mu.Lock()
				defer mu.Unlock()
				outcomes[fault] = outcome{status, out, errors}
			})
		}
		start(broken, ids, "3s")
		start(kept, others, "1m")
	}
	all.Wait()
	for fault, ids := range faults {
		t.Run(fault, func(t *testing.T) {
			require.Equal(t, exitFailed, broken[fault].status, broken[fault].errors)
			require.Equal(t, ids, failed(t, broken[fault].out))
			require.Equal(t, exitPassed, kept[fault].status, "%s\n%s", kept[fault].out, kept[fault].errors)
		})
	}
}

// oneOf is the pattern of these checks.
func oneOf(ids []string) string {
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = regexp.QuoteMeta(id)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// A client that dies is started anew for the checks that are left.
func TestClientThatDies(t *testing.T) {
	status, out, errors := runKit(t, "dies", "-json", "-run", "^(kill.ends|kill.wait|release.kills|wait.exit)$")
	require.Equal(t, exitFailed, status, errors)
	require.Equal(t, []string{"kill.ends", "kill.wait"}, failed(t, out))
	var r report
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Len(t, r.Results, 4)
	require.Equal(t, &clientInfo{Name: "test", Version: "7", Terminal: true}, r.Client)
}

func TestReportForPeople(t *testing.T) {
	status, out, _ := runKit(t, "logs to the agent", "-run", "rpc.messages|rpc.id")
	require.Equal(t, exitFailed, status)
	require.Regexp(t, `(?s)^test 7

fail  rpc.messages: the client writes nothing but messages
      protocol: Transports, .*
      expected: a message of JSON-RPC on each line
      found:    there is the line "client: a terminal is created\\n"
      sent:     terminal/create .*
protocol: 1 passed, 1 failed
beyond:   0 passed, 0 failed
$`, out)
}

// What is no finding about a client is another exit status than one.
func TestUnchecked(t *testing.T) {
	for fault, want := range map[string]string{
		"says nothing of terminals": "clientCapabilities.terminal is not true",
		"sends no prompt":           "the client sent no prompt",
	} {
		status, out, errors := runKit(t, fault)
		require.Equal(t, exitUnchecked, status)
		require.Empty(t, out)
		require.Contains(t, errors, want)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--", filepath.Join(t.TempDir(), "missing")}, exitUnchecked, "the client did not start"},
		{nil, exitUsage, "no client is given"},
		{[]string{"-run", "no such check", "x"}, exitUsage, "no check's id matches"},
		{[]string{"-run", "(", "x"}, exitUsage, "-run"},
		{[]string{"-level", "most", "x"}, exitUsage, `there is no level "most"`},
		{[]string{"-timeout", "0s", "x"}, exitUsage, "-timeout must be more than 0"},
		{[]string{"-nothing"}, exitUsage, "-nothing"},
		{[]string{"-h"}, exitPassed, "usage: acp-terminal-check"},
	} {
		var out, errors bytes.Buffer
		require.Equal(t, c.status, run(c.args, &out, &errors), "%q", c.args)
		require.Empty(t, out.String())
		require.Contains(t, errors.String(), c.want)
	}
}

func TestList(t *testing.T) {
	for level, least := range map[string]int{"protocol": 40, "beyond": 30, "all": 70} {
		var out, errors bytes.Buffer
		require.Equal(t, exitPassed, run([]string{"-list", "-level", level}, &out, &errors))
		require.GreaterOrEqual(t, strings.Count(out.String(), "\n"), least)
	}
	ids := make(map[string]bool)
	for _, c := range checks.All() {
		require.False(t, ids[c.ID], c.ID)
		require.NotEmpty(t, c.Title)
		require.NotEmpty(t, c.Source)
		ids[c.ID] = true
	}
}

// The agent's command line is one argument where that is asked for, else the last ones.
func TestCommandLine(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	c := checker{settings: settings{client: []string{"client", "--agent={agent}", "x"}}, dir: "/a dir"}
	line, err := c.commandLine()
	require.NoError(t, err)
	require.Equal(t, []string{"client", "--agent=" + self + ` -as-agent "/a dir"`, "x"}, line)
	c.client = []string{"client", "x"}
	line, err = c.commandLine()
	require.NoError(t, err)
	require.Equal(t, []string{"client", "x", self, agentMark, "/a dir"}, line)
}
