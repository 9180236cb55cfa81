package main

// What the flags forbid, seen from both ends: what the agent is told, and what is on record.

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// encode is a value as JSON.
func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// trying is an agent that asks for these commands and says how each is answered.
func trying(t *testing.T, requests ...acpterm.CreateTerminalRequest) []string {
	var args []string
	for _, r := range requests {
		args = append(args, acpterm.MethodCreate, encode(t, r))
	}
	return part("agent-that-tries", args...)
}

func TestAnotherSession(t *testing.T) {
	t.Parallel()
	other := map[string]string{"sessionId": "other", "terminalId": "term_x"}
	args := []string{acpterm.MethodCreate, encode(t, createParams("other", part("print", "no")...))}
	for _, method := range []string{acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill, acpterm.MethodRelease} {
		args = append(args, method, encode(t, other))
	}
	args = append(args, acpterm.MethodCreate, encode(t, createParams("s", part("print", "yes")...)))
	c := startClient(t, part("agent-that-tries", args...), "-prompt", "x")
	c.exit(0)
	out := c.stdout.String()
	require.Equal(t, 5, strings.Count(out, ": -32002 "))
	require.Contains(t, out, "terminal/create: -32002 acpterm: create: session not found\n")
	require.Contains(t, out, `terminal/create: "yes\n" exit code 0`)
}

func TestSessionIsOpenAtOnce(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-cannot-wait"), "-prompt", "x")
	c.exit(0)
	require.Contains(t, c.stdout.String(), `early: {"terminalId":`)
}

func TestAllow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"default": "allow", "shellLines": "allow", "rules": [
		{"name": "no-env", "verdict": "deny", "reason": "ask me", "program": "go", "args": ["env", "..."]}
	]}`), 0o600))
	for _, test := range []struct{ rule, prompt, want string }{
		{"go", "go version", "[1] = exited 0 in "},
		{"go version", "go env GOOS", `acpterm: create: "go env GOOS": no rule allows this (rule "default")` + "\n"},
		{"go env ...", "go env GOOS GOARCH", "[1] = exited 0 in "},
		{"go", "go version && go version", "shell lines are not allowed as such; a host can have policy/shell judge what they run"},
		{"go", "acpterm-no-such-program", "command not found\n"},
		{"@" + file, "go version && go version", "[1] = exited 0 in "},
		{"@" + file, "go env GOOS", `"go env GOOS": ask me (rule "no-env")`},
	} {
		t.Run(test.rule+": "+test.prompt, func(t *testing.T) {
			c := startClient(t, exampleAgent(), "-allow", test.rule, "-prompt", test.prompt)
			c.exit(0)
			require.Contains(t, c.stdout.String(), test.want)
		})
	}
}

func TestDenialOnTheWire(t *testing.T) {
	t.Parallel()
	setting := func(name, value string) acpterm.CreateTerminalRequest {
		req := createParams("s", "go", "version")
		req.Env = []acpterm.EnvVariable{{Name: name, Value: value}}
		return req
	}
	outside := createParams("s", "go", "version")
	outside.Cwd = filepath.Dir(t.TempDir())
	c := startClient(t, trying(t, createParams("s", "go", "version"), createParams("s", "go", "env"), outside,
		setting("GIT_PAGER", "x"), setting("GOCACHEPROG", "x"), setting("MINE", "2"),
		setting("MINE", "1"), setting("GIT_PAGER", "cat")),
		"-allow", "go version", "-variable", "MINE=1", "-root", t.TempDir(), "-prompt", "x")
	c.exit(0)
	require.Equal(t, 3, strings.Count(c.stdout.String(), `terminal/create: "go version`))
	require.Contains(t, c.stdout.String(), `terminal/create: -32602 acpterm: create: "go env": no rule allows this (rule "default")`+"\n")
	for _, problem := range []string{
		`"GIT_PAGER" must not have this value`, `"GOCACHEPROG" must not be set`, `"MINE" must not have this value`,
	} {
		want := `terminal/create: -32602 acpterm: create: "go version": the variable ` + problem + ` (rule "allow-variables")`
		require.Contains(t, c.stdout.String(), want+"\n")
	}
	want := `acpterm: create: "go version": cwd is outside of the directories that commands may run in (rule "roots")`
	require.Contains(t, c.stdout.String(), "terminal/create: -32602 "+want+"\n")

	// The person reads the same.
	var denied []string
	for line := range strings.Lines(c.stdout.String()) {
		if text, ok := strings.CutPrefix(line, "! denied "); ok {
			denied = append(denied, text)
		}
	}
	require.Len(t, denied, 5)
	require.Equal(t, `"go env": no rule allows this (rule "default")`+"\n", denied[0])
	require.Contains(t, denied[1], `"go version": cwd is outside of the directories`)
	require.Contains(t, denied[2], `the variable "GIT_PAGER" must not have this value (rule "allow-variables")`)
}

// Why a command was denied cannot steer the terminal, and an agent that tries much does not have the hook wait.
func TestDenialsAreShown(t *testing.T) {
	r, w := io.Pipe()
	s := newScreen(w, w, false, func(err error) { t.Error(err) })
	d := newNotices(s, s.out, "! ")
	event := &acpterm.DecisionEvent{Err: &acpterm.Error{Kind: acpterm.ErrDenied, Command: "a\x1b[2J\nb", Reason: "\u202eno"}}
	d.sayDenial(&acpterm.StartEvent{})
	d.sayDenial(&acpterm.DecisionEvent{Err: &acpterm.Error{Kind: acpterm.ErrCancelled}})
	for range 1000 {
		d.sayDenial(event)
	}
	d.end()
	go func() {
		s.finish()
		w.Close()
	}()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	shown := `! denied "a\x1b[2J\nb": \u202eno` + "\n"
	count := strings.Count(string(text), shown)
	require.Equal(t, strings.Repeat(shown, count), string(text))
	require.Contains(t, []int{256, 257}, count)
}

func TestRoots(t *testing.T) {
	t.Parallel()
	first, second := realDir(t), realDir(t)
	inSecond := createParams("s", part("where")...)
	inSecond.Cwd = second
	c := startClient(t, trying(t, createParams("s", part("where")...), inSecond), "-root", first, "-root", second, "-prompt", "x")
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[1] | in "+first+"\n")
	require.Contains(t, c.stdout.String(), "[2] | in "+second+"\n")

	c = startClient(t, trying(t, inSecond), "-cwd", first, "-prompt", "x")
	c.exit(0)
	require.Contains(t, c.stdout.String(), `where": cwd is outside of the directories`)
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-timeout", "1s", "-prompt", line("sleep"))
	c.exit(0)
	require.Regexp(t, `\[1\] = .*, timed out\n`, c.stdout.String())
}

// record is a line of the audit file.
type record struct {
	Level, Msg, Session, Verdict, Rule, Reason, Path, Dir, EndedBy, Error, Approval, Approver string
	Args, Variables                                                                           []string
	PID                                                                                       int
	ExitCode                                                                                  *int
}

func readRecords(t *testing.T, file string) (records []record) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for text := range strings.Lines(string(text)) {
		var r record
		require.NoError(t, json.Unmarshal([]byte(text), &r), text)
		records = append(records, r)
	}
	return records
}

func TestFlagsThatCannotBeHad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, test := range []struct {
		status int
		flags  []string
		want   string
	}{
		{1, []string{"-view", "127.0.0.1:no-such-port"}, "acpterm: -view: listen tcp"},
		{2, []string{"-allow", "acpterm-no-such-program"}, `there is no program "acpterm-no-such-program"`},
		{2, []string{"-no-such-flag"}, "no-such-flag"},
		{2, []string{"-shell", "bourne"}, "bourne"},
		{2, []string{"-cwd", filepath.Join(dir, "missing")}, "is not a directory"},
		{2, []string{"-allow", " "}, "the rule is empty"},
		{2, []string{"-allow", "@" + filepath.Join(dir, "missing")}, "missing"},
		{2, []string{"-root", filepath.Join(dir, "missing")}, "is not a directory"},
		{2, []string{"-timeout", "-1s"}, "must not be negative"},
		{2, []string{"-idle-timeout", "-1s"}, "-idle-timeout: must not be negative"},
		{2, []string{"-network"}, "-network"},
		{2, []string{"-allow", "go", "-variable", "=1"}, "the name is empty"},
		{2, []string{"-allow", "go ... x"}, `"..." must be the last`},
		{1, []string{"-audit", filepath.Join(dir, "missing", "file")}, "-audit: acpterm: open audit: the audit file cannot be used: "},
		{1, []string{"-root", dir, "-audit", filepath.Join(dir, "file")}, "where commands may write: choose a file outside of it"},
		{1, []string{"-cwd", dir, "-audit", filepath.Join(dir, "file")}, "where commands may write: choose a file outside of it"},
	} {
		c := startClient(t, exampleAgent(), append(test.flags, "-prompt", "x")...)
		c.exit(test.status)
		require.Contains(t, c.stderr.String(), test.want)
		require.Empty(t, c.stdout.String())
	}
}

func TestMovesToTheBackgroundAreShown(t *testing.T) {
	r, w := io.Pipe()
	s := newScreen(w, w, false, func(err error) { t.Error(err) })
	d := newNotices(s, s.out, "! ")
	hook := d.sayMoved(func(acpterm.TerminalID) string { return "[1]" })
	hook(&acpterm.StartEvent{})
	hook(&acpterm.BackgroundEvent{})
	d.end()
	go func() {
		s.finish()
		w.Close()
	}()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "! [1] moved to the background: the agent need not wait for it\n", string(text))
}
