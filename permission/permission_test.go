package permission_test

// Tests of the public interface: requests, a simulated user, and a manager whose commands are functions.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/permission"
	"github.com/acpterm/acpterm/policy"
)

func TestMain(m *testing.M) { racetest.Main(m) }

const allKinds = `[{"optionId":"1","name":"n","kind":"allow_once"},{"optionId":"2","name":"n","kind":"allow_always"},
	{"optionId":"3","name":"n","kind":"reject_once"},{"optionId":"4","name":"n","kind":"reject_always"},
	{"optionId":"5","name":"n","kind":"allow_everything"}]`

// read reads a request for a tool call that executes rawInput.
func read(t testing.TB, session, rawInput string) permission.Request {
	t.Helper()
	r, err := permission.Read([]byte(`{"sessionId":"` + session + `","options":` + allKinds +
		`,"toolCall":{"toolCallId":"c","title":"t","kind":"execute","rawInput":` + rawInput + `}}`))
	require.NoError(t, err)
	return r
}

// choosing returns a simulated user who always chooses the option of a kind.
func choosing(kind permission.OptionKind) func(context.Context, permission.Request) permission.Choice {
	return func(_ context.Context, r permission.Request) permission.Choice {
		for _, o := range r.Options {
			if o.Kind == kind {
				return permission.Choice{Option: o, By: "ann"}
			}
		}
		return permission.Choice{}
	}
}

// host is a manager whose policy asks about everything, through a bridge.
type host struct {
	*acpterm.Manager
	bridge permission.Bridge
	change func(acpterm.Proposal) *acpterm.Command // the policy's change, or nil

	mu    sync.Mutex
	asked int // the number of questions that the bridge did not answer; all are denied
}

func newHost(t testing.TB, options acpterm.Options) *host {
	h := &host{}
	var approvals policy.Approvals
	options.Policy = approvals.Policy(acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		d := acpterm.Decision{Verdict: acpterm.VerdictAsk}
		if h.change != nil && !strings.HasPrefix(p.Command.Path, "/other") {
			d.Change = h.change(p)
		}
		return d
	}))
	options.Approve = approvals.Approve(h.bridge.Approve(func(context.Context, acpterm.Question) acpterm.Answer {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked++
		return acpterm.Answer{Reason: "the second question"}
	}))
	if options.Runner == nil {
		options.Runner = acptermtest.Commands{"go": acptermtest.Print("", 0), "sh": acptermtest.Print("", 0),
			"/other/go": acptermtest.Print("", 0)}
	}
	h.Manager = acptermtest.NewManager(t, &options)
	return h
}

// answer gives the answer of a kind for rawInput in the session "s".
func (h *host) answer(t testing.TB, rawInput string, kind permission.OptionKind) {
	t.Helper()
	h.bridge.Answer(t.Context(), read(t, "s", rawInput), choosing(kind))
}

// create returns the result of a create: "runs", "asked" (by the host's own function), or the reason for a denial.
func (h *host) create(t testing.TB, req acpterm.CreateTerminalRequest) string {
	t.Helper()
	if req.SessionID == "" {
		req.SessionID = "s"
	}
	before := h.asked
	_, err := h.Create(t.Context(), req, nil)
	var e *acpterm.Error
	switch {
	case err == nil:
		return "runs"
	case h.asked > before:
		return "asked"
	case errors.As(err, &e):
		return e.Reason
	}
	return err.Error()
}

func goTest() acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{Command: "go", Args: []string{"test", "./..."}}
}

const goTestShown = `{"command":["go","test","./..."]}`

func TestAllowOnceIsForOneCreate(t *testing.T) {
	h := newHost(t, acpterm.Options{})
	require.Equal(t, "asked", h.create(t, goTest()))
	h.answer(t, goTestShown, permission.OptionKindAllowOnce)
	require.Equal(t, "runs", h.create(t, goTest()))
	require.Equal(t, "asked", h.create(t, goTest()))

	h.answer(t, goTestShown, permission.OptionKindAllowOnce)
	h.answer(t, goTestShown, permission.OptionKindAllowOnce)
	require.Equal(t, "runs", h.create(t, goTest()))
	require.Equal(t, "runs", h.create(t, goTest()))
	require.Equal(t, "asked", h.create(t, goTest()))
}

// aboutLine returns a question about a line in the session "s".
func aboutLine(line string) acpterm.Question {
	return acpterm.Question{Proposal: acpterm.Proposal{SessionID: "s",
		Command: acpterm.Command{Path: "/bin/sh", Args: []string{"sh", "-c", line}, ShellLine: line}}}
}

// endsSoon is a context that ends after the first check whether it has ended.
type endsSoon struct {
	context.Context
	asked atomic.Bool
}

func (c *endsSoon) Err() error {
	if c.asked.Swap(true) {
		return context.Canceled
	}
	return nil
}

// An answer is not remembered if its context has ended before. A question whose context has ended does not use a
// remembered answer.
func TestContextsThatEnd(t *testing.T) {
	var bridge permission.Bridge
	approve := bridge.Approve(nil)
	allow := func(ctx context.Context) {
		bridge.Answer(ctx, read(t, "s", `{"command":"go vet"}`), choosing(permission.OptionKindAllowOnce))
	}
	allow(&endsSoon{Context: t.Context()})
	require.Equal(t, acpterm.ApprovalRejectOnce, approve(t.Context(), aboutLine("go vet")).Approval)

	allow(t.Context())
	ended, end := context.WithCancel(t.Context())
	end()
	require.Equal(t, acpterm.ApprovalRejectOnce, approve(ended, aboutLine("go vet")).Approval)
	require.Equal(t, acpterm.ApprovalAllowOnce, approve(t.Context(), aboutLine("go vet")).Approval)
}

// Only one of many concurrent questions gets the answer allow_once.
func TestAllowOnceIsUsedByOneOfMany(t *testing.T) {
	const line = "go vet"
	q := aboutLine(line)
	for range 2000 {
		var bridge permission.Bridge
		approve := bridge.Approve(nil)
		bridge.Answer(t.Context(), read(t, "s", `{"command":"`+line+`"}`), choosing(permission.OptionKindAllowOnce))
		var allowed atomic.Int32
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range 4 {
			all.Go(func() {
				<-begin
				if approve(t.Context(), q).Approval == acpterm.ApprovalAllowOnce {
					allowed.Add(1)
				}
			})
		}
		close(begin)
		all.Wait()
		require.EqualValues(t, 1, allowed.Load())
	}
}

// Only the shown command runs.
func TestOnlyWhatWasShownRuns(t *testing.T) {
	type request = acpterm.CreateTerminalRequest
	for _, c := range []struct {
		shown  string
		create request
		want   string
	}{
		{`{"command":"go"}`, request{Command: "go"}, "runs"},
		{`{"command":["go"]}`, request{Command: "go"}, "runs"},
		{`{"command":"go","args":["test","./..."]}`, goTest(), "runs"},
		{`{"command":"go","args":["test","./..."],"description":"d","cwd":null}`, goTest(), "runs"},
		{`{"command":"go vet"}`, request{Command: "go vet"}, "runs"},
		{`{"command":"go vet"}`, request{Command: "go", Args: []string{"vet"}}, "asked"},
		{`{"command":"go","args":["vet"]}`, request{Command: "go vet"}, "asked"},
		{`{"command":["go vet"]}`, request{Command: "go vet"}, "asked"},
		{`{"command":["go","test ./..."]}`, goTest(), "asked"},
		{`{"command":["go","test","./...",""]}`, goTest(), "asked"},
		{`{"command":["go","test"]}`, goTest(), "asked"},
		{`{"command":["go","Test","./..."]}`, goTest(), "asked"},
		{`{"command":["/usr/bin/go","test","./..."]}`, goTest(), "asked"},
		{goTestShown, request{SessionID: "other", Command: "go", Args: []string{"test", "./..."}}, "asked"},
		{goTestShown, request{Command: "go", Args: []string{"test", "./..."},
			Env: []acpterm.EnvVariable{{Name: "A"}}}, "asked"},
		{`{"command":"go vet "}`, request{Command: "go vet"}, "asked"},
		{`{"command":["go"]}`, request{Command: "go", Cwd: "/p"}, "asked"},
		{`{"command":["go"],"cwd":"/p"}`, request{Command: "go", Cwd: "/p"}, "runs"},
		{`{"command":["go"],"cwd":"/p"}`, request{Command: "go", Cwd: "/q"}, "asked"},
		{`{"command":["go"],"cwd":"/p"}`, request{Command: "go"}, "asked"},
		{`{"command":["go"],"cwd":"/default"}`, request{Command: "go"}, "runs"},
		{`{"command":["go"],"cwd":"/default/"}`, request{Command: "go"}, "asked"},
	} {
		h := newHost(t, acpterm.Options{Commands: acpterm.CommandOptions{Dir: "/default"}})
		h.answer(t, c.shown, permission.OptionKindAllowOnce)
		require.Equal(t, c.want, h.create(t, c.create), "%s, %+v", c.shown, c.create)
	}
}

// If the session's directory is known, the agent may name it or not.
func TestTheSessionsDirectory(t *testing.T) {
	for cwd, want := range map[string]string{"": "runs", "/default": "runs", "/q": "asked"} {
		h := newHost(t, acpterm.Options{Commands: acpterm.CommandOptions{Dir: "/default"}})
		r := read(t, "s", `{"command":["go"]}`)
		r.Dir = "/default"
		h.bridge.Answer(t.Context(), r, choosing(permission.OptionKindAllowOnce))
		require.Equal(t, want, h.create(t, acpterm.CreateTerminalRequest{Command: "go", Cwd: cwd}), cwd)
	}
}

func TestACommandThatAPolicyChangedIsAskedAbout(t *testing.T) {
	for _, c := range []struct {
		shown string
		req   acpterm.CreateTerminalRequest
		path  string
		args  string
	}{
		{goTestShown, goTest(), "/other/go", "go test ./..."},
		{`{"command":"go vet"}`, acpterm.CreateTerminalRequest{Command: "go vet"}, "/other/sh", "sh -c rm"},
	} {
		h := newHost(t, acpterm.Options{})
		h.change = func(p acpterm.Proposal) *acpterm.Command {
			changed := p.Command
			changed.Path, changed.Args = c.path, strings.Fields(c.args)
			return &changed
		}
		h.answer(t, c.shown, permission.OptionKindAllowOnce)
		require.Equal(t, "asked", h.create(t, c.req), c.path)
	}
}

// With real programs, the directory may be shown by the name of a symbolic link, and the manager finds the program.
func TestRealCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a Unix one")
	}
	var bridge permission.Bridge
	m := acptermtest.NewManager(t, &acpterm.Options{
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		}),
		Approve: bridge.Approve(nil),
	})
	link, realDir := filepath.Join(t.TempDir(), "link"), t.TempDir()
	require.NoError(t, os.Symlink(realDir, link))
	allow := func(rawInput, dir string) {
		r := read(t, "s", rawInput)
		r.Dir = dir
		bridge.Answer(t.Context(), r, choosing(permission.OptionKindAllowOnce))
	}
	create := func(cwd, command string, args ...string) error {
		req := acpterm.CreateTerminalRequest{SessionID: "s", Command: command, Args: args, Cwd: cwd}
		_, err := m.Create(t.Context(), req, nil)
		return err
	}
	allow(`{"command":"echo","args":["a"]}`, link)
	require.NoError(t, create(link, "echo", "a"))
	err := create(link, "echo", "a")
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.ErrorContains(t, err, "no function that asks")

	allow(`{"command":"true && true"}`, "")
	require.NoError(t, create("", "true && true"))

	// The directory differs, or has another name.
	for _, cwd := range []string{"", realDir} {
		allow(`{"command":"echo","cwd":"`+link+`"}`, "")
		require.ErrorContains(t, create(cwd, "echo"), "no function that asks", cwd)
	}

	// A line was shown, and a program has its name.
	require.NoError(t, os.WriteFile(filepath.Join(link, "true x"), []byte("#!/bin/sh\n"), 0o700))
	allow(`{"command":"./true x"}`, link)
	require.ErrorContains(t, create(link, "./true x"), "no function that asks")
}

func TestAllowAlwaysIsForThisCommandInThisSession(t *testing.T) {
	h := newHost(t, acpterm.Options{})
	require.NoError(t, h.OpenSession("s", nil))
	h.answer(t, goTestShown, permission.OptionKindAllowAlways)
	require.Equal(t, "runs", h.create(t, goTest()))
	require.Equal(t, "runs", h.create(t, goTest()))
	require.Equal(t, "asked", h.create(t, acpterm.CreateTerminalRequest{Command: "go"}))
	other := goTest()
	other.SessionID = "other"
	require.Equal(t, "asked", h.create(t, other))
	require.NoError(t, h.CloseSession(t.Context(), "s"))
	require.Equal(t, "asked", h.create(t, goTest()))
}

func TestRejections(t *testing.T) {
	const reason = "it was rejected when permission was requested"
	h := newHost(t, acpterm.Options{})
	h.answer(t, goTestShown, permission.OptionKindRejectOnce)
	require.Equal(t, reason, h.create(t, goTest()))
	require.Equal(t, "asked", h.create(t, goTest()))

	// The later answer counts.
	h.answer(t, goTestShown, permission.OptionKindRejectOnce)
	h.answer(t, goTestShown, permission.OptionKindAllowOnce)
	require.Equal(t, "runs", h.create(t, goTest()))
	h.answer(t, goTestShown, permission.OptionKindAllowOnce)
	h.answer(t, `{"command":["go","test","./..."],"cwd":"/p"}`, permission.OptionKindRejectOnce)
	require.Equal(t, "asked", h.create(t, goTest()))

	h.answer(t, goTestShown, permission.OptionKindRejectAlways)
	other := goTest()
	other.SessionID = "other"
	require.Equal(t, "asked", h.create(t, other))
	require.Equal(t, reason, h.create(t, goTest()))
	require.Equal(t, reason, h.create(t, goTest()))
	require.Equal(t, reason, h.create(t, other))
}

func TestAnAnswerIsVoidAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, acpterm.Options{})
		for wait, want := range map[time.Duration]string{time.Minute - 1: "runs", time.Minute: "asked"} {
			h.answer(t, goTestShown, permission.OptionKindAllowOnce)
			time.Sleep(wait) // in the bubble's time
			require.Equal(t, want, h.create(t, goTest()))
		}
	})
}

func TestForget(t *testing.T) {
	h := newHost(t, acpterm.Options{})
	h.answer(t, goTestShown, permission.OptionKindAllowOnce)
	h.bridge.Forget("other")
	require.Equal(t, "runs", h.create(t, goTest()))
	h.answer(t, goTestShown, permission.OptionKindAllowAlways)
	h.bridge.Forget("s")
	require.Equal(t, "asked", h.create(t, goTest()))
}

// An answer to a cancelled request is ignored.
func TestALateAnswerCountsForNothing(t *testing.T) {
	h := newHost(t, acpterm.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	response := h.bridge.Answer(ctx, read(t, "s", goTestShown),
		func(ctx context.Context, r permission.Request) permission.Choice {
			cancel()
			return choosing(permission.OptionKindAllowOnce)(ctx, r)
		})
	require.Equal(t, permission.Response{Outcome: permission.Outcome{Outcome: "cancelled"}}, response)
	require.Equal(t, "asked", h.create(t, goTest()))
}

func TestOutcomes(t *testing.T) {
	type option = permission.Option
	for _, c := range []struct {
		choice        option
		want, creates string
	}{
		{option{ID: "1", Name: "n", Kind: "allow_once"}, `{"outcome":"selected","optionId":"1"}`, "runs"},
		{option{ID: "5", Name: "n", Kind: "allow_everything"}, `{"outcome":"selected","optionId":"5"}`, "asked"},
		{option{ID: "5", Name: "n", Kind: "allow_once"}, `{"outcome":"cancelled"}`, "asked"},
		{option{}, `{"outcome":"cancelled"}`, "asked"},
	} {
		h := newHost(t, acpterm.Options{})
		response := h.bridge.Answer(t.Context(), read(t, "s", goTestShown),
			func(context.Context, permission.Request) permission.Choice {
				return permission.Choice{Option: c.choice}
			})
		data, err := json.Marshal(response)
		require.NoError(t, err)
		require.Equal(t, `{"outcome":`+c.want+`}`, string(data))
		require.Equal(t, c.creates, h.create(t, goTest()), c.choice)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	h := newHost(t, acpterm.Options{})
	for i := range 257 {
		h.answer(t, fmt.Sprintf(`{"command":["go","%d"]}`, i), permission.OptionKindAllowOnce)
	}
	for arg, want := range map[string]string{"0": "asked", "1": "runs", "256": "runs"} {
		require.Equal(t, want, h.create(t, acpterm.CreateTerminalRequest{Command: "go", Args: []string{arg}}), arg)
	}
	for arg, want := range map[string]string{strings.Repeat("x", 60<<10): "runs", strings.Repeat("x", 70<<10): "asked"} {
		h.answer(t, `{"command":["go","`+arg+`"]}`, permission.OptionKindAllowOnce)
		require.Equal(t, want, h.create(t, acpterm.CreateTerminalRequest{Command: "go", Args: []string{arg}}))
	}
}

// The record says who allowed a command.
func TestByNamesThePerson(t *testing.T) {
	var by string
	h := newHost(t, acpterm.Options{Record: func(_ context.Context, e acpterm.Event) error {
		if d, ok := e.(*acpterm.DecisionEvent); ok {
			by = d.Approval + " " + d.Approver
		}
		return nil
	}})
	h.answer(t, goTestShown, permission.OptionKindAllowOnce)
	require.Equal(t, "runs", h.create(t, goTest()))
	require.Equal(t, "allow_once ann", by)
}
