package acpterm_test

// What may run: attacks on each guard, over the wire where they come that way. Each test fails without its guard.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// realTempDir is a directory without links in its path.
func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// verdict is a policy that says one thing, and remembers what it was shown.
type verdict struct {
	decision acpterm.Decision
	mu       sync.Mutex
	seen     []acpterm.Proposal
}

func (v *verdict) Decide(_ context.Context, p acpterm.Proposal) acpterm.Decision {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, p)
	return v.decision
}

// proposed is the command that a policy is shown for a request, or the error of what comes before.
func proposed(t *testing.T, options acpterm.Options, req acpterm.CreateTerminalRequest) (acpterm.Command, error) {
	t.Helper()
	policy := new(verdict)
	options.Policy = policy
	m := must(acpterm.NewManager(&options)) // newManager adds a variable
	defer m.Close()
	_, err := m.Create(t.Context(), req, nil)
	if errors.Is(err, acpterm.ErrDenied) {
		return policy.seen[0].Command, nil
	}
	return acpterm.Command{}, err
}

func TestRootsConfineTheDirectory(t *testing.T) {
	dir := realTempDir(t)
	for _, name := range []string{"a/below", "ab", "outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	root := filepath.Join(dir, "a")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink(filepath.Join(dir, "outside"), filepath.Join(root, "link-out")))
		require.NoError(t, os.Symlink(root, filepath.Join(dir, "link-in")))
	}
	m := newManager(t, nil)
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{root}}))
	p := connectPeer(t, m, nil)
	for cwd, want := range map[string]bool{
		"": true, "a": true, "a/below": true, "a/below/..": true, "link-in/below": true,
		"ab": false, "outside": false, ".": false, "a/..": false, "a/below/../..": false,
		"a/link-out": false, "a/link-out/..": false,
	} {
		if runtime.GOOS == "windows" && strings.Contains(cwd, "link") {
			continue
		}
		req := childRequest("pwd")
		if cwd != "" {
			req.Cwd = dir + string(filepath.Separator) + filepath.FromSlash(cwd) // as it is, not cleaned
		}
		r := p.ask(`1`, acpterm.MethodCreate, req)
		require.Equal(t, want, r.Error == nil, "%q: %+v", cwd, r.Error)
		if !want {
			require.EqualValues(t, -32602, r.Error.Code)
			require.Contains(t, string(*r.Error.Data), `"rule":"roots"`)
		}
	}
	// Another session has no roots, one with an empty list may run nowhere, and a relative root is no root.
	create(t, m, inSession("other", childRequest("pwd")))
	require.NoError(t, m.OpenSession("nowhere", &acpterm.SessionOptions{Roots: []string{}}))
	_, err := m.Create(t.Context(), inSession("nowhere", childRequest("pwd")), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	for _, wrong := range []string{"a", dir + "/missing"} {
		err := m.OpenSession("x", &acpterm.SessionOptions{Roots: []string{wrong}})
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, wrong)
	}
}

// A session's directory is the first of its roots, unless it says another.
func TestASessionsDirectoryAndEnvironment(t *testing.T) {
	first, second := realTempDir(t), realTempDir(t)
	m := newManager(t, nil)
	require.NoError(t, m.OpenSession("roots", &acpterm.SessionOptions{Roots: []string{first, second}}))
	env := []string{"ONLY=this", "GORACE=atexit_sleep_ms=0"}
	require.NoError(t, m.OpenSession("dir", &acpterm.SessionOptions{Dir: second, Env: env}))
	for session, want := range map[acpterm.SessionID]string{"roots": first, "dir": second} {
		term := finish(t, m, inSession(session, childRequest("pwd")))
		require.Equal(t, want+"\n", term.Output().Output)
	}
	term := finish(t, m, inSession("dir", childRequest("environ")))
	require.Contains(t, term.Output().Output, "ONLY=this\n")
	require.NotContains(t, term.Output().Output, markVariable)
}

func TestSessionsCanBeRequired(t *testing.T) {
	m := newManager(t, &acpterm.Options{RequireSessions: true})
	p := connectPeer(t, m, nil)
	require.NoError(t, m.OpenSession("mine", nil))
	for session, want := range map[acpterm.SessionID]bool{"mine": true, "someone-else's": false, "Mine": false} {
		r := p.ask(`1`, acpterm.MethodCreate, inSession(session, childRequest("exit", "0")))
		require.Equal(t, want, r.Error == nil, session)
		if !want {
			require.EqualValues(t, -32002, r.Error.Code)
			require.JSONEq(t, fmt.Sprintf(`{"kind":"session_not_found","sessionId":%q}`, session), string(*r.Error.Data))
		}
	}
	require.NoError(t, m.CloseSession(t.Context(), "mine"))
	_, err := m.Create(t.Context(), inSession("mine", childRequest("exit", "0")), nil)
	require.ErrorIs(t, err, acpterm.ErrSessionNotFound)
}

// What a policy is shown is what runs.
func TestAPolicySeesWhatRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	dir := realTempDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(executable(), filepath.Join(dir, "tool")))
	policy := &verdict{decision: acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "all"}}
	m := newManager(t, &acpterm.Options{Policy: policy})
	req := acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "tool", Args: childArgs("pwd")[1:], Cwd: filepath.Join(dir, "link"),
		Env: []acpterm.EnvVariable{{Name: "PATH", Value: dir}},
	}
	term := finish(t, m, req)
	require.Equal(t, filepath.Join(dir, "real")+"\n", term.Output().Output)
	require.Len(t, policy.seen, 1)
	p := policy.seen[0]
	real, err := filepath.EvalSymlinks(executable())
	require.NoError(t, err)
	require.Equal(t, real, p.Command.Path)
	require.Equal(t, "tool", p.Name)
	require.Equal(t, append([]string{"tool"}, req.Args...), p.Command.Args)
	require.Equal(t, filepath.Join(dir, "real"), p.Command.Dir)
	require.Contains(t, p.Command.Env, "PATH="+dir)
	require.Equal(t, req, p.Requested)
	require.Equal(t, p.Command.Path, term.Command().Path)

	finish(t, m, commandRequest("true && true"))
	require.Equal(t, "true && true", policy.seen[1].Command.ShellLine)
}

// programs makes executable files in a new directory, and returns it.
func programs(t testing.TB, names ...string) (dir string) {
	t.Helper()
	dir = realTempDir(t)
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"$@\"\n"), 0o700))
	}
	return dir
}

// A policy finds a program where the embedder has it, whatever the agent sets.
func TestProposalLookPath(t *testing.T) {
	bin, evil := programs(t, "real"), programs(t, "tool", "own")
	tool := filepath.Join(bin, "real")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink("real", filepath.Join(bin, "tool")))
	} else {
		tool = filepath.Join(bin, "tool.exe")
		require.NoError(t, os.WriteFile(tool, nil, 0o700))
	}
	var looked, launched []acpterm.Command
	for _, remote := range []bool{false, true} {
		policy := acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
			require.Equal(t, remote, p.Remote())
			path, err := p.LookPath(ctx, "tool")
			require.NoError(t, err)
			if remote {
				require.Equal(t, "/bin/x", path)
				require.Contains(t, looked[len(looked)-1].Env, "PATH="+bin)
				return acpterm.Decision{}
			}
			require.Equal(t, tool, path)
			_, err = p.LookPath(ctx, "own")
			require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
			return acpterm.Decision{}
		})
		options := acpterm.Options{Policy: policy, Env: []string{"PATH=" + bin}}
		if remote {
			options.Runner = keeping(&looked, &launched)
		}
		m := newManager(t, &options)
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: executable(),
			Env: []acpterm.EnvVariable{{Name: "PATH", Value: evil}}}, nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
	}
	_, err := acpterm.Proposal{}.LookPath(t.Context(), "no-such-program")
	require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
}

func TestProposalDirWithin(t *testing.T) {
	dir := realTempDir(t)
	p := acpterm.Proposal{Command: acpterm.Command{Dir: filepath.Join(dir, "a", "b")}}
	for _, within := range []string{dir, filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")} {
		require.True(t, p.DirWithin(filepath.Join(dir, "x"), within), within)
	}
	require.False(t, p.DirWithin(filepath.Join(dir, "a", "b", "c"), filepath.Join(dir, "a", "bc")))
	require.False(t, p.DirWithin())
	p.DirUnknown = true
	require.False(t, p.DirWithin(dir))
}

// Behind a link ".." is the parent of what the link leads to, as for the system, in a command and in PATH.
func TestProgramBehindALinkAndBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there \"..\" is taken out of the name before links are followed")
	}
	dir := realTempDir(t)
	for _, name := range []string{"work", "elsewhere/deep"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere/deep"), filepath.Join(dir, "work/link")))
	for _, name := range []string{"work", "elsewhere"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "tool"), []byte("#!/bin/sh\necho "+name+"\n"), 0o700))
	}
	policy := &verdict{decision: acpterm.Decision{Verdict: acpterm.VerdictAllow}}
	m := newManager(t, &acpterm.Options{Policy: policy, Dir: filepath.Join(dir, "work")})
	for i, c := range []struct{ command, path, line, want string }{
		{"link/../tool", "", "", "elsewhere"},
		{"./link/../tool", "", "", "elsewhere"},
		{filepath.Join(dir, "work") + "/link/../tool", "", "", "elsewhere"},
		{"tool", "link/..", "", "elsewhere"},
		{"tool", ".", "", "work"},
		{"./tool", "", "", "work"},
		{"echo line; : < ./link/../tool", "", "echo line; : < ./link/../tool", "line"},
		{"echo line > /dev/null; link/../tool", "", "echo line > /dev/null; link/../tool", "elsewhere"},
	} {
		req := commandRequest(c.command)
		if !strings.Contains(c.command, "/") {
			req.Env = []acpterm.EnvVariable{{Name: "PATH", Value: c.path}}
		}
		term := finish(t, m, req)
		require.Equal(t, c.want+"\n", term.Output().Output, "%+v", c)
		require.Equal(t, c.line, policy.seen[i].Command.ShellLine)
		if c.line == "" {
			require.Equal(t, filepath.Join(dir, c.want, "tool"), policy.seen[i].Command.Path)
		}
	}
}

// What is replaced between the decision and the start does not run.
func TestWhatIsReplacedAfterTheDecisionDoesNotRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	script := func(path, says string) {
		require.NoError(t, os.WriteFile(path+".new", []byte("#!/bin/sh\necho "+says+"\npwd -P\n"), 0o700))
		require.NoError(t, os.Rename(path+".new", path))
	}
	relink := func(dir, link, to string) {
		os.Remove(filepath.Join(dir, link))
		os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link))
	}
	rename := func(dir, from, to string) { os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
	for name, attack := range map[string]struct {
		swap func(dir string)
		runs bool // what was approved, that is
	}{
		"the link to the program": {func(dir string) { relink(dir, "link", "bad") }, true},
		"the program":             {func(dir string) { script(filepath.Join(dir, "good"), "bad") }, false},
		"what the program says": {func(dir string) {
			os.WriteFile(filepath.Join(dir, "good"), []byte("#!/bin/sh\necho bad\n"), 0)
		}, false},
		"what the program says, to the byte and with its time": {func(dir string) {
			info, _ := os.Stat(filepath.Join(dir, "good"))
			text, _ := os.ReadFile(filepath.Join(dir, "good"))
			f, _ := os.OpenFile(filepath.Join(dir, "good"), os.O_WRONLY, 0)
			f.Write(bytes.Replace(text, []byte("good"), []byte("evil"), 1))
			f.Close()
			os.Chtimes(filepath.Join(dir, "good"), info.ModTime(), info.ModTime())
		}, false},
		"the program by a link":     {func(dir string) { relink(dir, "good", "bad") }, false},
		"the link to the directory": {func(dir string) { relink(dir, "cwd", "elsewhere") }, true},
		"the directory": {func(dir string) {
			rename(dir, "work", "moved")
			rename(dir, "elsewhere", "work")
		}, false},
		"the directory by a link": {func(dir string) {
			rename(dir, "work", "moved")
			relink(dir, "work", "elsewhere")
		}, false},
	} {
		if strings.HasSuffix(name, "with its time") && runtime.GOOS != "linux" {
			continue // it is not seen there, as security.md says
		}
		t.Run(name, func(t *testing.T) {
			dir := realTempDir(t)
			script(filepath.Join(dir, "good"), "good")
			script(filepath.Join(dir, "bad"), "bad")
			require.NoError(t, os.Symlink(filepath.Join(dir, "good"), filepath.Join(dir, "link")))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "work"), 0o700))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "elsewhere"), 0o700))
			require.NoError(t, os.Symlink(filepath.Join(dir, "work"), filepath.Join(dir, "cwd")))
			swap := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
				attack.swap(dir)
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			})
			m := newManager(t, &acpterm.Options{Policy: swap})
			req := commandRequest(filepath.Join(dir, "link"))
			req.Cwd = filepath.Join(dir, "cwd")
			term, err := m.Create(t.Context(), req, nil)
			if !attack.runs {
				require.ErrorIs(t, err, acpterm.ErrDenied)
				return
			}
			require.NoError(t, err)
			awaitExit(t, term)
			require.Equal(t, "good\n"+filepath.Join(dir, "work")+"\n", term.Output().Output)
		})
	}
}

func TestPoliciesTheStrictestWins(t *testing.T) {
	say := func(v acpterm.Verdict, rule string) acpterm.Policy {
		return &verdict{decision: acpterm.Decision{Verdict: v, Rule: rule}}
	}
	for _, c := range []struct {
		policies acpterm.Policies
		want     acpterm.Verdict
		rule     string
	}{
		{nil, acpterm.VerdictAllow, ""},
		{acpterm.Policies{say(acpterm.VerdictAllow, "a"), say(acpterm.VerdictAllow, "b")}, acpterm.VerdictAllow, "a"},
		{acpterm.Policies{say(acpterm.VerdictAllow, "a"), say(acpterm.VerdictAsk, "b"), say(acpterm.VerdictAsk, "c")}, acpterm.VerdictAsk, "b"},
		{acpterm.Policies{say(acpterm.VerdictAsk, "a"), say(acpterm.VerdictDeny, "b"), say(acpterm.VerdictAllow, "c")}, acpterm.VerdictDeny, "b"},
		{acpterm.Policies{&verdict{}}, acpterm.VerdictDeny, ""},
	} {
		d := c.policies.Decide(t.Context(), acpterm.Proposal{})
		require.Equal(t, c.want, d.Verdict)
		require.Equal(t, c.rule, d.Rule)
	}
	// A manager's and a session's are both asked.
	m := newManager(t, &acpterm.Options{Policy: say(acpterm.VerdictAllow, "manager's")})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Policy: say(acpterm.VerdictDeny, "session's")}))
	_, err := m.Create(t.Context(), childRequest("exit", "0"), nil)
	e, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok)
	require.Equal(t, "session's", e.Rule)
	create(t, m, inSession("other", childRequest("exit", "0")))
}

// A changed command is decided on anew, by all.
func TestAPolicyCanChangeACommand(t *testing.T) {
	change := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		d := acpterm.Decision{Verdict: acpterm.VerdictAllow}
		if last := p.Command.Args[len(p.Command.Args)-1]; last == "before" {
			c := p.Command
			c.Args = append(append([]string{}, c.Args[:len(c.Args)-1]...), "after")
			d.Change = &c
		}
		return d
	})
	watch := &verdict{decision: acpterm.Decision{Verdict: acpterm.VerdictAllow}}
	m := newManager(t, &acpterm.Options{Policy: acpterm.Policies{watch, change}})
	term := finish(t, m, childRequest("print", "before"))
	require.Equal(t, "after", term.Output().Output)
	require.Len(t, watch.seen, 2)
}

func TestPoliciesThatNeverAgreeDeny(t *testing.T) {
	never := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		c := p.Command
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Change: &c}
	})
	m := newManager(t, &acpterm.Options{Policy: never})
	_, err := m.Create(t.Context(), childRequest("print", "x"), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

func TestOutputByteLimitIsNoMemoryBomb(t *testing.T) {
	m := newManager(t, nil)
	req := childRequest("exit", "0")
	require.EqualValues(t, 1<<20, create(t, m, req).Info().OutputByteLimit)
	req.OutputByteLimit = new(^uint64(0))
	require.EqualValues(t, 16<<20, create(t, m, req).Info().OutputByteLimit)
}

func TestDecisionsAreEvents(t *testing.T) {
	hook, events := record()
	deny := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Command.Args[len(p.Command.Args)-1] == "bad" {
			return acpterm.Decision{Rule: "no bad", Reason: "it is bad"}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "good"}
	})
	m := newManager(t, &acpterm.Options{Policy: deny, Events: hook})
	p := connectPeer(t, m, nil)
	req := childRequest("print", "bad")
	req.Env = []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret"}}
	r := p.ask(`1`, acpterm.MethodCreate, req)
	require.EqualValues(t, -32602, r.Error.Code)
	var data map[string]any
	require.NoError(t, json.Unmarshal(*r.Error.Data, &data))
	require.Contains(t, data["command"], "print bad")
	delete(data, "command")
	require.Equal(t, map[string]any{"kind": "denied", "reason": "it is bad", "rule": "no bad", "sessionId": "s"}, data)
	require.Contains(t, r.Error.Message, "it is bad")
	d := (<-events).(*acpterm.DecisionEvent)
	require.Equal(t, acpterm.VerdictDeny, d.Verdict)
	require.Equal(t, "no bad", d.Rule)
	require.Equal(t, []string{"TOKEN"}, d.Variables)
	require.ErrorIs(t, d.Err, acpterm.ErrDenied)
	require.NotEmpty(t, d.TerminalID)
	written, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(written), "secret")

	term := create(t, m, childRequest("print", "good"))
	d = (<-events).(*acpterm.DecisionEvent)
	require.Equal(t, acpterm.VerdictAllow, d.Verdict)
	require.Equal(t, term.ID(), d.TerminalID)
	require.Equal(t, term.ID(), (<-events).(*acpterm.EndEvent).TerminalID)
}

func TestAddRoot(t *testing.T) {
	first, second := realTempDir(t), realTempDir(t)
	m := newManager(t, nil)
	require.ErrorIs(t, m.AddRoot("s", first), acpterm.ErrSessionNotFound)
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{first}}))
	require.NoError(t, m.OpenSession("anywhere", nil))
	require.ErrorIs(t, m.AddRoot("anywhere", first), acpterm.ErrInvalidParams)
	require.ErrorIs(t, m.AddRoot("s", filepath.Join(first, "missing")), acpterm.ErrInvalidParams)

	req := childRequest("exit", "0")
	req.Cwd = second
	_, err := m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.NoError(t, m.AddRoot("s", second))
	finish(t, m, req)
	req.Cwd = first
	finish(t, m, req)
	req.Cwd = t.TempDir()
	_, err = m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}
