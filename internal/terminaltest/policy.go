package terminaltest

// Policies, roots, and replaced programs and directories.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

func policyTests() []test {
	return []test{
		{"RootsConfineTheDirectory", TestRootsConfineTheDirectory},
		{"ASessionsDirectoryAndEnvironment", TestASessionsDirectoryAndEnvironment},
		{"SessionsCanBeRequired", TestSessionsCanBeRequired},
		{"APolicySeesWhatRuns", TestAPolicySeesWhatRuns},
		{"ProgramBehindALinkAndBack", TestProgramBehindALinkAndBack},
		{"WhatIsReplacedAfterTheDecisionDoesNotRun", TestWhatIsReplacedAfterTheDecisionDoesNotRun},
		{"PoliciesTheStrictestWins", TestPoliciesTheStrictestWins},
		{"APolicyCanChangeACommand", TestAPolicyCanChangeACommand},
		{"PoliciesThatNeverAgreeDeny", TestPoliciesThatNeverAgreeDeny},
		{"OutputByteLimitIsNoMemoryBomb", TestOutputByteLimitIsNoMemoryBomb},
		{"AddRoot", TestAddRoot},
	}
}

func TestRootsConfineTheDirectory(t *testing.T, p Place) {
	dir := p.TempDir(t)
	for _, name := range []string{"a/below", "ab", "outside"} {
		require.NoError(t, p.mkdirAll(filepath.Join(dir, name), 0o700))
	}
	root := filepath.Join(dir, "a")
	if runtime.GOOS != "windows" {
		require.NoError(t, p.symlink(filepath.Join(dir, "outside"), filepath.Join(root, "link-out")))
		require.NoError(t, p.symlink(root, filepath.Join(dir, "link-in")))
	}
	m := p.NewManager(t, nil)
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{root}}))
	for cwd, want := range map[string]bool{
		"": true, "a": true, "a/below": true, "a/below/..": true, "link-in/below": true,
		"ab": false, "outside": false, ".": false, "a/..": false, "a/below/../..": false,
		"a/link-out": false, "a/link-out/..": false,
	} {
		if runtime.GOOS == "windows" && strings.Contains(cwd, "link") {
			continue
		}
		req := p.Child("pwd")
		if cwd != "" {
			req.Cwd = dir + string(filepath.Separator) + filepath.FromSlash(cwd) // unchanged, not cleaned
		}
		refused := createOnWire(t, m, req)
		require.Equal(t, want, refused == nil, "%q: %+v", cwd, refused)
		if !want {
			require.EqualValues(t, -32602, refused.Code)
			require.Contains(t, string(*refused.Data), `"rule":"roots"`)
		}
	}
	// Another session has no roots, one with an empty list may run nowhere, and a relative root is invalid.
	Create(t, m, InSession("other", p.Child("pwd")))
	require.NoError(t, m.OpenSession("nowhere", &acpterm.SessionOptions{Roots: []string{}}))
	_, err := m.Create(t.Context(), InSession("nowhere", p.Child("pwd")), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	for _, wrong := range []string{"a", dir + "/missing"} {
		err := m.OpenSession("x", &acpterm.SessionOptions{Roots: []string{wrong}})
		require.ErrorIs(t, err, acpterm.ErrInternal, wrong)
	}
}

// A session's directory is the first of its roots, unless it sets another.
func TestASessionsDirectoryAndEnvironment(t *testing.T, p Place) {
	first, second := p.TempDir(t), p.TempDir(t)
	m := p.NewManager(t, nil)
	require.NoError(t, m.OpenSession("roots", &acpterm.SessionOptions{Roots: []string{first, second}}))
	env := []string{"ONLY=this", "GORACE=atexit_sleep_ms=0"}
	require.NoError(t, m.OpenSession("dir", &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Dir: second, Env: env},
	}))
	for session, want := range map[acpterm.SessionID]string{"roots": first, "dir": second} {
		term := Finish(t, m, InSession(session, p.Child("pwd")))
		require.Equal(t, want+"\n", term.Output().Output)
	}
	term := Finish(t, m, InSession("dir", p.Child("environ")))
	require.Contains(t, term.Output().Output, "ONLY=this\n")
	require.NotContains(t, term.Output().Output, leaktest.Variable)
}

func TestSessionsCanBeRequired(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{RequireSessions: true})
	require.NoError(t, m.OpenSession("mine", nil))
	for session, want := range map[acpterm.SessionID]bool{"mine": true, "someone-else's": false, "Mine": false} {
		refused := createOnWire(t, m, InSession(session, p.Child("exit", "0")))
		require.Equal(t, want, refused == nil, session)
		if !want {
			require.EqualValues(t, -32002, refused.Code)
			data := fmt.Sprintf(`{"kind":"session_not_found","sessionId":%q}`, session)
			require.JSONEq(t, data, string(*refused.Data))
		}
	}
	require.NoError(t, m.CloseSession(t.Context(), "mine"))
	_, err := m.Create(t.Context(), InSession("mine", p.Child("exit", "0")), nil)
	require.ErrorIs(t, err, acpterm.ErrSessionNotFound)
}

// The command shown to a policy is the one that runs.
func TestAPolicySeesWhatRuns(t *testing.T, p Place) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	dir := p.TempDir(t)
	require.NoError(t, p.mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, p.symlink("real", filepath.Join(dir, "link")))
	require.NoError(t, p.symlink(p.Program, filepath.Join(dir, "tool")))
	policy := &Verdict{Decision: acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "all"}}
	m := p.NewManager(t, &acpterm.Options{Policy: policy})
	req := acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "tool", Args: p.childArgs("pwd")[1:], Cwd: filepath.Join(dir, "link"),
		Env: []acpterm.EnvVariable{{Name: "PATH", Value: dir}},
	}
	term := Finish(t, m, req)
	require.Equal(t, filepath.Join(dir, "real")+"\n", term.Output().Output)
	require.Len(t, policy.Seen, 1)
	shown := policy.Seen[0]
	real, err := p.real(p.Program)
	require.NoError(t, err)
	require.Equal(t, real, shown.Command.Path)
	require.Equal(t, "tool", shown.Name)
	require.Equal(t, append([]string{"tool"}, req.Args...), shown.Command.Args)
	require.Equal(t, filepath.Join(dir, "real"), shown.Command.Dir)
	require.Contains(t, shown.Command.Env, "PATH="+dir)
	require.Equal(t, req, shown.Requested)
	require.Equal(t, shown.Command.Path, term.Command().Path)

	Finish(t, m, CommandRequest("true && true"))
	require.Equal(t, "true && true", policy.Seen[1].Command.ShellLine)
}

// Behind a symbolic link, ".." is the parent of the link's target, as for the system, both in a command and in PATH.
func TestProgramBehindALinkAndBack(t *testing.T, p Place) {
	if runtime.GOOS == "windows" {
		t.Skip("there \"..\" is taken out of the name before links are followed")
	}
	dir := p.TempDir(t)
	for _, name := range []string{"work", "elsewhere/deep"} {
		require.NoError(t, p.mkdirAll(filepath.Join(dir, name), 0o700))
	}
	require.NoError(t, p.symlink(filepath.Join(dir, "elsewhere/deep"), filepath.Join(dir, "work/link")))
	for _, name := range []string{"work", "elsewhere"} {
		require.NoError(t, p.writeFile(filepath.Join(dir, name, "tool"), []byte("#!/bin/sh\necho "+name+"\n"), 0o700))
	}
	policy := &Verdict{Decision: acpterm.Decision{Verdict: acpterm.VerdictAllow}}
	m := p.NewManager(t, &acpterm.Options{
		Policy:   policy,
		Commands: acpterm.CommandOptions{Dir: filepath.Join(dir, "work")},
	})
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
		req := CommandRequest(c.command)
		if !strings.Contains(c.command, "/") {
			req.Env = []acpterm.EnvVariable{{Name: "PATH", Value: c.path}}
		}
		term := Finish(t, m, req)
		require.Equal(t, c.want+"\n", term.Output().Output, "%+v", c)
		require.Equal(t, c.line, policy.Seen[i].Command.ShellLine)
		if c.line == "" {
			require.Equal(t, filepath.Join(dir, c.want, "tool"), policy.Seen[i].Command.Path)
		}
	}
}

// attack replaces something after the decision.
type attack struct {
	swap func(dir string)
	runs bool // the approved command, that is
}

// script writes, or replaces, a program that prints something.
func (p Place) script(t *testing.T, path, says string) {
	t.Helper()
	require.NoError(t, p.writeFile(path+".new", []byte("#!/bin/sh\necho "+says+"\npwd -P\n"), 0o700))
	require.NoError(t, p.rename(path+".new", path))
}

// attacks returns the attacks, named by the thing they replace.
func (p Place) attacks(t *testing.T) map[string]attack {
	relink := func(dir, link, to string) {
		p.remove(filepath.Join(dir, link))
		p.symlink(filepath.Join(dir, to), filepath.Join(dir, link))
	}
	rename := func(dir, from, to string) { p.rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
	return map[string]attack{
		"the link to the program": {func(dir string) { relink(dir, "link", "bad") }, true},
		"the program":             {func(dir string) { p.script(t, filepath.Join(dir, "good"), "bad") }, false},
		"what the program says": {func(dir string) {
			p.writeFile(filepath.Join(dir, "good"), []byte("#!/bin/sh\necho bad\n"), 0)
		}, false},
		"what the program says, to the byte and with its time": {func(dir string) {
			info, _ := os.Stat(p.path(filepath.Join(dir, "good")))
			text, _ := os.ReadFile(p.path(filepath.Join(dir, "good")))
			f, _ := os.OpenFile(p.path(filepath.Join(dir, "good")), os.O_WRONLY, 0)
			f.Write(bytes.Replace(text, []byte("good"), []byte("evil"), 1))
			f.Close()
			os.Chtimes(p.path(filepath.Join(dir, "good")), info.ModTime(), info.ModTime())
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
	}
}

// Anything replaced between the decision and the start does not run.
func TestWhatIsReplacedAfterTheDecisionDoesNotRun(t *testing.T, p Place) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	for name, attack := range p.attacks(t) {
		if strings.HasSuffix(name, "with its time") && runtime.GOOS != "linux" {
			continue // it is not detected there, as security.md says
		}
		t.Run(name, func(t *testing.T) {
			dir := p.TempDir(t)
			p.script(t, filepath.Join(dir, "good"), "good")
			p.script(t, filepath.Join(dir, "bad"), "bad")
			require.NoError(t, p.symlink(filepath.Join(dir, "good"), filepath.Join(dir, "link")))
			require.NoError(t, p.mkdir(filepath.Join(dir, "work"), 0o700))
			require.NoError(t, p.mkdir(filepath.Join(dir, "elsewhere"), 0o700))
			require.NoError(t, p.symlink(filepath.Join(dir, "work"), filepath.Join(dir, "cwd")))
			swap := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
				attack.swap(dir)
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			})
			m := p.NewManager(t, &acpterm.Options{Policy: swap})
			req := CommandRequest(filepath.Join(dir, "link"))
			req.Cwd = filepath.Join(dir, "cwd")
			term, err := m.Create(t.Context(), req, nil)
			if !attack.runs {
				denied, ok := errors.AsType[*acpterm.Error](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, acpterm.ErrDenied, denied.Kind)
				require.Equal(t, "unchanged", denied.Rule)
				return
			}
			require.NoError(t, err)
			AwaitExit(t, term)
			require.Equal(t, "good\n"+filepath.Join(dir, "work")+"\n", term.Output().Output)
		})
	}
}

func TestPoliciesTheStrictestWins(t *testing.T, p Place) {
	const allow, ask, deny = acpterm.VerdictAllow, acpterm.VerdictAsk, acpterm.VerdictDeny
	say := func(v acpterm.Verdict, rule string) acpterm.Policy {
		return &Verdict{Decision: acpterm.Decision{Verdict: v, Rule: rule}}
	}
	for _, c := range []struct {
		policies acpterm.Policies
		want     acpterm.Verdict
		rule     string
	}{
		{nil, allow, ""},
		{acpterm.Policies{say(allow, "a"), say(allow, "b")}, allow, "a"},
		{acpterm.Policies{say(allow, "a"), say(ask, "b"), say(ask, "c")}, ask, "b"},
		{acpterm.Policies{say(ask, "a"), say(deny, "b"), say(allow, "c")}, deny, "b"},
		{acpterm.Policies{&Verdict{}}, deny, ""},
	} {
		d := c.policies.Decide(t.Context(), acpterm.Proposal{})
		require.Equal(t, c.want, d.Verdict)
		require.Equal(t, c.rule, d.Rule)
	}
	// Both the manager's and the session's policy are asked.
	m := p.NewManager(t, &acpterm.Options{Policy: say(allow, "manager's")})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Policy: say(deny, "session's")}))
	_, err := m.Create(t.Context(), p.Child("exit", "0"), nil)
	e, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok)
	require.Equal(t, "session's", e.Rule)
	Create(t, m, InSession("other", p.Child("exit", "0")))
}

// All policies decide again on a changed command.
func TestAPolicyCanChangeACommand(t *testing.T, p Place) {
	change := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		d := acpterm.Decision{Verdict: acpterm.VerdictAllow}
		if last := p.Command.Args[len(p.Command.Args)-1]; last == "before" {
			c := p.Command
			c.Args = append(append([]string{}, c.Args[:len(c.Args)-1]...), "after")
			d.Change = &c
		}
		return d
	})
	watch := &Verdict{Decision: acpterm.Decision{Verdict: acpterm.VerdictAllow}}
	m := p.NewManager(t, &acpterm.Options{Policy: acpterm.Policies{watch, change}})
	term := Finish(t, m, p.Child("print", "before"))
	require.Equal(t, "after", term.Output().Output)
	require.Len(t, watch.Seen, 2)
}

func TestPoliciesThatNeverAgreeDeny(t *testing.T, p Place) {
	never := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		c := p.Command
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Change: &c}
	})
	m := p.NewManager(t, &acpterm.Options{Policy: never})
	_, err := m.Create(t.Context(), p.Child("print", "x"), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

func TestOutputByteLimitIsNoMemoryBomb(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	req := p.Child("exit", "0")
	require.EqualValues(t, 1<<20, Create(t, m, req).Info().OutputByteLimit)
	req.OutputByteLimit = new(^uint64(0))
	require.EqualValues(t, 16<<20, Create(t, m, req).Info().OutputByteLimit)
}

func TestAddRoot(t *testing.T, p Place) {
	first, second := p.TempDir(t), p.TempDir(t)
	m := p.NewManager(t, nil)
	require.ErrorIs(t, m.AddRoot("s", first), acpterm.ErrSessionNotFound)
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{first}}))
	require.NoError(t, m.OpenSession("anywhere", nil))
	require.ErrorIs(t, m.AddRoot("anywhere", first), acpterm.ErrInternal)
	require.ErrorIs(t, m.AddRoot("s", filepath.Join(first, "missing")), acpterm.ErrInternal)

	req := p.Child("exit", "0")
	req.Cwd = second
	_, err := m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.NoError(t, m.AddRoot("s", second))
	Finish(t, m, req)
	req.Cwd = first
	Finish(t, m, req)
	req.Cwd = p.TempDir(t)
	_, err = m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

// Verdict is a policy that always gives the same decision, and remembers the proposals it saw.
type Verdict struct {
	Decision acpterm.Decision
	mu       sync.Mutex
	Seen     []acpterm.Proposal
}

func (v *Verdict) Decide(_ context.Context, p acpterm.Proposal) acpterm.Decision {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.Seen = append(v.Seen, p)
	return v.Decision
}

// createOnWire returns the error of a create as sent on the wire, or nil if it succeeds.
func createOnWire(t *testing.T, m *acpterm.Manager, req acpterm.CreateTerminalRequest) *jsonrpc2.Error {
	t.Helper()
	_, err := m.Create(t.Context(), req, nil)
	if err == nil {
		return nil
	}
	return acpterm.ResponseError(err)
}
