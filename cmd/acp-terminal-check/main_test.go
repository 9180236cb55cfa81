package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/checks"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/internal/racetest"
)

// The test binary is the kit, its agent, its commands, and the clients.
func TestMain(m *testing.M) {
	racetest.Restart()
	switch args := os.Args[1:]; {
	case len(args) == 0: // as a command without arguments
		os.Exit(exitUsage)
	case args[0] == child.Mark, args[0] == agentMark:
		os.Exit(run(args, os.Stdout, os.Stderr))
	case args[0] == kitMark:
		os.Exit(run(args[1:], os.Stdout, os.Stderr))
	case args[0] == clientMark:
		if err := runClient(args[1], args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	atOnce := 4 * runtime.GOMAXPROCS(0) // the clients wait most of the time
	if runtime.GOOS == "windows" {
		atOnce = runtime.GOMAXPROCS(0)
	}
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// kitMark, as the first argument, makes the test binary the kit.
const kitMark = "-as-kit"

// brief returns the timeout of checks. Some checks end by it. Under Wine, a process may take seconds to start.
func brief() string {
	if runtime.GOOS == "windows" {
		return "20s"
	}
	return "5s"
}

// withTime runs a check with a short time, and with a longer one if it fails, because a busy machine may need that.
func withTime(t *testing.T, short, long string, check func(time string) error) {
	err := check(short)
	if err != nil {
		t.Logf("once more with more time: %v", err)
		err = check(long)
	}
	require.NoError(t, err)
}

// runKit runs the kit for a client with this fault.
func runKit(t *testing.T, fault string, flags ...string) (status int, stdout, stderr string) {
	self, err := os.Executable()
	require.NoError(t, err)
	var out, errors bytes.Buffer
	status = run(append(flags, "--", self, clientMark, fault), &out, &errors)
	return status, out.String(), errors.String()
}

func readReport(t *testing.T, text string) (r report) {
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	return r
}

// ids returns the ids of the checks with that outcome.
func (r report) ids(outcome checks.Outcome) (ids []string) {
	for _, each := range r.Results {
		if each.Outcome == outcome {
			ids = append(ids, each.ID)
		}
	}
	return ids
}

func TestClientWithoutFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // its removal fails if something still uses it
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, kitMark, "-v", "-timeout", "1m", "-total", "10m", "--", self, clientMark, "")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "TMP="+dir)
	text, err := cmd.CombinedOutput()
	out := string(text)
	require.NoError(t, err, out)
	require.Contains(t, out, "test 7\n")
	require.Contains(t, out, "pass  close.ends: ")
	require.Equal(t, len(checks.All()), strings.Count(out, "\npass  ")+strings.Count(out, "\nnot applicable "))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A client that dies is started again for the remaining checks.
func TestClientThatDies(t *testing.T) {
	t.Parallel()
	status, out, errors := runKit(t, "dies of a kill", "-json", "-timeout", "1m", "-run", "^(kill.ends|kill.wait|release.kills)$")
	require.Equal(t, exitFailed, status, errors)
	r := readReport(t, out)
	require.Equal(t, []string{"kill.ends"}, r.ids(checks.Fail))
	require.Equal(t, []string{"kill.wait"}, r.ids(checks.NotTried))
	require.Contains(t, r.ids(checks.Pass), "release.kills")
	require.Equal(t, &clientInfo{Name: "test", Version: "7", Terminal: true}, r.Client)
}

// A client that hangs costs a few timeouts, not one for each check.
func TestClientThatHangs(t *testing.T) {
	t.Parallel()
	withTime(t, "2s", "20s", func(timeout string) error {
		status, out, errors := runKit(t, "answers no more", "-json", "-timeout", timeout, "-total", "10m")
		require.Equal(t, exitFailed, status, errors)
		r := readReport(t, out)
		require.Len(t, r.Results, len(checks.All()))
		row, stopped := 0, 0
		for _, each := range r.Results {
			switch {
			case each.Outcome == checks.Fail:
				row++
			case each.Outcome != checks.NotTried:
				row = 0
			case strings.HasPrefix(each.Reason, "the client hangs: in 3 checks in a row"):
				if row != 3 {
					return fmt.Errorf("the kit stopped after %d checks that failed, not 3", row)
				}
				stopped++
			default:
				require.Contains(t, each.Reason, " failed, which this check needs")
			}
		}
		if stopped <= 20 {
			return fmt.Errorf("only %d checks were left out", stopped)
		}
		return nil
	})
}

// The run ends in time, regardless of the client, and lists the untried checks.
func TestTotal(t *testing.T) {
	t.Parallel()
	withTime(t, "5s", "1m", func(total string) error {
		status, out, errors := runKit(t, "answers nothing", "-timeout", "10m", "-total", total)
		require.Equal(t, exitUnchecked, status, errors)
		for _, text := range []string{"not tried  close.ends: the time for all checks is over\n", " not tried\n"} {
			if !strings.Contains(out, text) {
				return fmt.Errorf("%q is not in the report %q: %s", text, out, errors)
			}
		}
		return nil
	})
}

func TestReportForPeople(t *testing.T) {
	t.Parallel()
	status, out, _ := runKit(t, "logs to the agent", "-timeout", "1m", "-run", "rpc.messages")
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

// No text of a client steers the terminal on which the report is read.
func TestReportOfAHostileClient(t *testing.T) {
	const hostile = "X\x1b[2J\u009b\rY"
	r := &report{
		Client: &clientInfo{Name: hostile, Version: hostile},
		Results: []result{{Result: checks.Result{
			Outcome: checks.Fail, Reason: hostile, Exchanges: []checks.Exchange{{Sent: hostile, Came: hostile}},
		}}, {Result: checks.Result{Outcome: checks.NotTried, Reason: hostile}}},
	}
	var text bytes.Buffer
	require.NoError(t, r.writeText(&text, true))
	require.Equal(t, 6, strings.Count(text.String(), display.Visible(hostile, 0)), "%s", &text)
	require.NotContains(t, text.String(), "\x1b")
}

// Failures other than findings about a client have an exit status other than 1.
func TestUnchecked(t *testing.T) {
	t.Parallel()
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
		{nil, exitUsage, "the command line of the client is missing"},
		{[]string{"-run", "no such check", "x"}, exitUsage, "no check's id matches"},
		{[]string{"-run", "(", "x"}, exitUsage, "-run"},
		{[]string{"-level", "most", "x"}, exitUsage, `"most" is not a level`},
		{[]string{"-timeout", "0s", "x"}, exitUsage, "-timeout must be more than 0"},
		{[]string{"-total", "0s", "x"}, exitUsage, "-total must be more than 0"},
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

// The agent's command line is one argument if requested, and otherwise the last arguments.
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
