//go:build linux || darwin || freebsd

package signin_test

// Signing in to a scripted agent, with each form of method and a simulated user.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/signin"
)

// person is a terminal with a simulated user who answers each text once with the keys.
type person struct {
	keys    *io.PipeWriter
	input   *io.PipeReader
	answers map[string]string

	mu   sync.Mutex
	seen strings.Builder
}

func newPerson(t *testing.T, answers map[string]string) *person {
	p := &person{answers: answers}
	p.input, p.keys = io.Pipe()
	t.Cleanup(func() { p.keys.Close() })
	return p
}

func (p *person) Read(b []byte) (int, error) { return p.input.Read(b) }

func (p *person) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.Write(b)
	for text, keys := range p.answers {
		if strings.Contains(p.seen.String(), text) {
			delete(p.answers, text)
			go io.WriteString(p.keys, keys)
		}
	}
	return len(b), nil
}

func (p *person) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// soon returns a context that ends if something hangs, far later than any test needs.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// knowing returns a user who knows the password.
func knowing(t *testing.T) *person {
	return newPerson(t, map[string]string{"Password: ": password + "\n"})
}

// await waits until a terminal has shown a text, or has ended.
func await(term *acpterm.Terminal, text string) {
	var seen strings.Builder
	for chunk := range term.Follow(context.Background(), 0) {
		seen.WriteString(chunk.Text)
		if strings.Contains(seen.String(), text) {
			return
		}
	}
}

// read reads one method.
func read(t *testing.T, version int, method string) signin.Method {
	t.Helper()
	methods, err := signin.ReadMethods(resultOf(version, method))
	require.NoError(t, err)
	require.Len(t, methods, 1)
	return methods[0]
}

// typed returns a method with the type and one argument.
func typed(argument string) signin.Method { return signin.Method{ID: "m", Args: []string{argument}} }

// statusOf returns the status in the error of a failed Run.
func statusOf(t *testing.T, err error) *acpterm.TerminalExitStatus {
	t.Helper()
	e, ok := errors.AsType[*signin.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "m", e.Method)
	return e.Status
}

// shapes returns the same method in each form, with the arguments that the program sees.
func shapes(t *testing.T) map[string]struct {
	method signin.Method
	args   string
} {
	cmd, _ := agentCommand(t)
	return map[string]struct {
		method signin.Method
		args   string
	}{
		"v1": {read(t, 1, `{"id":"m","name":"M","type":"terminal","args":["auth","login"],"env":{"REGION":"new"}}`),
			`["--acp" "auth" "login"]`},
		"v2": {read(t, 2, `{"methodId":"m","name":"M","type":"terminal","args":["auth","login"],`+
			`"env":[{"name":"REGION","value":"new"}]}`), `["--acp" "auth" "login"]`},
		"legacy": {read(t, 1, fmt.Sprintf(`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":%q,`+
			`"args":[%q,"login"],"env":{"REGION":"new"}}}}`, cmd.Path, asAgent)), `["login"]`},
	}
}

// The program gets the agent's arguments and then the method's, and the agent's variables overridden by the method's. A
// legacy method replaces the program.
func TestRunSignsIn(t *testing.T) {
	for name, shape := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			cmd, _ := agentCommand(t)
			someone := knowing(t)
			before := fmt.Sprint(cmd)
			err := signin.Run(soon(t), cmd, shape.method, someone, &signin.Options{
				AllowLegacyCommand: true, AllowVariables: []string{"REGION"}, // not in policy.SafeVariables
			})
			require.NoError(t, err, "%s", someone)
			seen := someone.String()
			require.Contains(t, seen, fmt.Sprintf("args=%s dir=%s region=new kept=of-the-agent term=xterm-256color columns=\"\"",
				shape.args, filepath.Base(cmd.Dir)))
			require.Contains(t, seen, "terminals=1\r\n")
			require.True(t, strings.HasSuffix(seen, "welcome\r\n"), seen)
			require.Equal(t, before, fmt.Sprint(cmd))
			require.Nil(t, cmd.Process)
		})
	}
}

// Only exit code 0 is success.
func TestRunFails(t *testing.T) {
	cmd, _ := agentCommand(t)
	err := signin.Run(soon(t), cmd, typed("login"), newPerson(t, map[string]string{"Password: ": "guess-5912\n"}), nil)
	require.Equal(t, uint32(7), *statusOf(t, err).ExitCode)
	require.EqualError(t, err, `sign in by "m": exit code 7`)

	err = signin.Run(soon(t), cmd, typed("die"), newPerson(t, nil), nil)
	require.Equal(t, "SIGKILL", *statusOf(t, err).Signal)
	require.EqualError(t, err, `sign in by "m": signal SIGKILL`)
}

// The end of the user's input ends the program's input.
func TestRunPassesOnTheEndOfInput(t *testing.T) {
	cmd, _ := agentCommand(t)
	someone := newPerson(t, nil)
	err := signin.Run(soon(t), cmd, typed("login"), struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), someone}, nil)
	require.Equal(t, uint32(3), *statusOf(t, err).ExitCode)
	require.Contains(t, someone.String(), "bye")
}

func TestRunRefusesALegacyCommand(t *testing.T) {
	cmd, ran := agentCommand(t)
	err := signin.Run(soon(t), cmd, shapes(t)["legacy"].method, knowing(t), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.ErrorContains(t, err, "AllowLegacyCommand")
	require.Nil(t, statusOf(t, err))
	require.NoFileExists(t, ran)
}

// An agent confined by the program that starts it cannot give that program a library to load: without permission, a
// method may set only safe variables. With others nothing runs, with the embedder's manager or without it.
func TestRunRefusesVariables(t *testing.T) {
	cmd, ran := agentCommand(t)
	set := func(more ...acpterm.EnvVariable) signin.Method {
		return signin.Method{ID: "m", Args: []string{"none"}, Env: append(more,
			acpterm.EnvVariable{Name: "LANG", Value: "C"}, acpterm.EnvVariable{Name: "PAGER", Value: "/secret/pager"},
			acpterm.EnvVariable{Name: "REGION", Value: "new"})}
	}
	preload := set(acpterm.EnvVariable{Name: "LD_PRELOAD", Value: "/secret/library.so"})
	for name, c := range map[string]struct {
		method signin.Method
		allow  []string
		want   []string
	}{
		"by default":     {preload, nil, []string{"LD_PRELOAD", "PAGER", "REGION"}},
		"all but one":    {preload, []string{"PAGER", "REGION=n*"}, []string{"LD_PRELOAD"}},
		"another value":  {set(), []string{"PAGER=more", "REGION=new"}, []string{"PAGER"}},
		"legacy command": {shapes(t)["legacy"].method, nil, []string{"REGION"}},
	} {
		options := signin.Options{AllowVariables: c.allow, AllowLegacyCommand: true}
		require.Equal(t, c.want, c.method.RefusedVariables(&options), name)
		for _, options.Manager = range []*acpterm.Manager{nil, acptermtest.NewManager(t, nil)} {
			err := signin.Run(soon(t), cmd, c.method, newPerson(t, nil), &options)
			require.ErrorIs(t, err, acpterm.ErrDenied, name)
			require.Nil(t, statusOf(t, err), name)
			require.NoFileExists(t, ran, name)
			require.ErrorContains(t, err, `"`+strings.Join(c.want, `", "`)+`"`, name)
			require.NotContains(t, err.Error(), "secret", "a value is in no error")
		}
	}
	require.Equal(t, []string{"PAGER", "REGION"}, set().RefusedVariables(nil))
	require.Empty(t, preload.RefusedVariables(&signin.Options{AllowVariables: []string{"*"}}))

	someone := newPerson(t, nil)
	options := &signin.Options{AllowVariables: []string{"PAGER=/secret/*", "REGION"}}
	require.NoError(t, signin.Run(soon(t), cmd, set(), someone, options))
	require.Contains(t, someone.String(), "region=new")

	many := signin.Method{ID: "m"}
	for i := range 1000 {
		many.Env = append(many.Env, acpterm.EnvVariable{Name: fmt.Sprint(strings.Repeat("X", 1000), i)})
	}
	err := signin.Run(soon(t), cmd, many, newPerson(t, nil), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.Less(t, len(err.Error()), 3000)
	require.ErrorContains(t, err, "and 980 more")
}

// The manager's policy sees the complete command. A denied command does not run.
func TestRunIsHeldToTheManagersPolicy(t *testing.T) {
	cmd, ran := agentCommand(t)
	var proposals []acpterm.Proposal
	m := acptermtest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellAlways},
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			proposals = append(proposals, p)
			return acpterm.Decision{Verdict: acpterm.VerdictDeny, Reason: "not today"}
		}),
	})
	err := signin.Run(soon(t), cmd, typed("login"), nil, &signin.Options{Manager: m, Session: "login"})
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.ErrorContains(t, err, "not today")
	require.Nil(t, statusOf(t, err))
	require.NoFileExists(t, ran)
	require.Equal(t, acpterm.SessionID("login"), proposals[0].SessionID)
	require.Equal(t, []string{cmd.Path, asAgent, "--acp", "login"}, proposals[0].Command.Args)
	require.True(t, proposals[0].PTY.Attended)
	require.NoError(t, m.OpenSession("login", nil)) // Run has closed it
}

// A program without arguments is not a shell line, whatever its name and the manager's options.
func TestRunUsesNoShell(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellAlways}})
	dir := filepath.Join(t.TempDir(), "my agent; exit 5")
	require.NoError(t, os.Mkdir(dir, 0o700))
	file := filepath.Join(dir, "agent")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\necho ok $#\n"), 0o700))
	cmd, _ := agentCommand(t)
	cmd.Path, cmd.Args = file, []string{file}
	someone := newPerson(t, nil)
	require.NoError(t, signin.Run(soon(t), cmd, signin.Method{ID: "m"}, someone, &signin.Options{Manager: m}))
	require.Equal(t, "ok 0\r\n", someone.String())
	require.NoError(t, os.Remove(file))
	err := signin.Run(soon(t), cmd, signin.Method{ID: "m"}, someone, &signin.Options{Manager: m})
	require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
}

// The end of the context ends the program and its child processes.
func TestRunIsCancelled(t *testing.T) {
	for _, own := range []bool{false, true} {
		cmd, ran := agentCommand(t)
		var options signin.Options
		if !own {
			options.Manager = acptermtest.NewManager(t, nil)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		options.Started = func(term *acpterm.Terminal) {
			go func() {
				await(term, "ready")
				cancel(errors.New("the person changed their mind"))
			}()
		}
		err := signin.Run(ctx, cmd, typed("wait"), newPerson(t, nil), &options)
		require.ErrorIs(t, err, acpterm.ErrCancelled)
		require.ErrorContains(t, err, "the person changed their mind")
		require.Equal(t, "SIGHUP", *statusOf(t, err).Signal)
		require.FileExists(t, ran)
		require.Empty(t, alive(cmd))
		if !own {
			require.Empty(t, options.Manager.Terminals())
		}

		require.NoError(t, os.Remove(ran))
		err = signin.Run(ctx, cmd, typed("wait"), newPerson(t, nil), &options)
		require.ErrorIs(t, err, acpterm.ErrCancelled)
		require.NoFileExists(t, ran)
	}
}

// A user can answer and stop the program in a view, without a terminal of the client. The password does not appear in
// events, errors, logs or output.
func TestRunInAManagersTerminal(t *testing.T) {
	var mu sync.Mutex
	var events bytes.Buffer
	var logged bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	typedBytes := 0
	m := acptermtest.NewManager(t, nil)
	m.Observe(func(e acpterm.Event) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&events, "%T %+v\n", e, e)
		if input, ok := e.(*acpterm.InputEvent); ok {
			typedBytes += input.Bytes
		}
	})
	cmd, _ := agentCommand(t)
	var shown *acpterm.Terminal
	answer := func(keys string) func(*acpterm.Terminal) {
		return func(term *acpterm.Terminal) {
			shown = term
			go func() {
				await(term, "Password: ")
				io.WriteString(term, keys)
			}()
		}
	}
	options := &signin.Options{Manager: m, PTY: acpterm.PTYOptions{Columns: 99, Rows: 9}, Started: answer(password + "\n")}
	require.NoError(t, signin.Run(soon(t), cmd, typed("login"), nil, options))
	require.Equal(t, acpterm.TerminalSize{Columns: 99, Rows: 9}, *shown.Info().Size)
	require.Contains(t, shown.Output().Output, "welcome")
	require.NotContains(t, shown.Output().Output, password)

	options.Started = answer("wrong-" + password + "\n")
	err := signin.Run(soon(t), cmd, typed("login"), nil, options)
	require.NotContains(t, fmt.Sprintf("%v %+v", err, err), password)
	require.Empty(t, m.Terminals())
	require.NoError(t, m.Close())
	require.NotContains(t, events.String(), password)
	require.Contains(t, events.String(), "InputEvent")
	require.Equal(t, 2*len(password)+len("wrong-\n\n"), typedBytes)
	require.NotContains(t, logged.String(), password)
}

// broken is a terminal that fails.
type broken struct {
	reads, writes error
	hang          chan struct{}
}

func (b broken) Write(p []byte) (int, error) { return len(p), b.writes }
func (b broken) Read([]byte) (int, error) {
	if b.reads == nil {
		<-b.hang
	}
	return 0, b.reads
}

// A failing terminal ends the program, and a pending Read does not delay Run.
func TestRunWithATerminalThatFails(t *testing.T) {
	cmd, _ := agentCommand(t)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	lost := errors.New("lost")
	for _, term := range []broken{{writes: lost, hang: hang}, {reads: lost, hang: hang}} {
		err := signin.Run(soon(t), cmd, typed("wait"), term, nil)
		require.ErrorIs(t, err, lost)
		require.NotErrorIs(t, err, acpterm.ErrCancelled)
		require.Empty(t, alive(cmd))
	}
	require.NoError(t, signin.Run(soon(t), cmd, typed("none"), broken{hang: hang}, nil))
}

// late is a terminal whose first Write waits until the program's terminal is released.
type late struct {
	*person
	released <-chan struct{}
}

func (l *late) Write(b []byte) (int, error) {
	<-l.released
	return l.person.Write(b)
}

// When Run returns, all of the program's output has arrived, also at a slow terminal.
func TestRunWaitsForASlowTerminal(t *testing.T) {
	cmd, _ := agentCommand(t)
	released := make(chan struct{})
	slow := &late{newPerson(t, nil), released}
	require.NoError(t, signin.Run(soon(t), cmd, typed("flood"), slow, &signin.Options{
		Started: func(term *acpterm.Terminal) {
			go func() {
				<-term.Released()
				close(released)
			}()
		},
	}))
	require.Equal(t, 20_000, strings.Count(slow.String(), "flood\r\n"))
	require.True(t, strings.HasSuffix(slow.String(), "last\r\n"))
}

func TestRunFollowsTheSize(t *testing.T) {
	cmd, _ := agentCommand(t)
	someone := newPerson(t, map[string]string{"ready": "\n"})
	require.NoError(t, signin.Run(soon(t), cmd, typed("size"), someone, &signin.Options{
		Started: func(term *acpterm.Terminal) { require.NoError(t, term.Resize(77, 33)) },
	}))
	require.Contains(t, someone.String(), "33 77\r\n")
}

// Nothing remains after a panic of a hook.
func TestRunWithAHookThatPanics(t *testing.T) {
	cmd, _ := agentCommand(t)
	require.Panics(t, func() {
		signin.Run(soon(t), cmd, typed("wait"), newPerson(t, nil), &signin.Options{
			Started: func(*acpterm.Terminal) { panic("oh") },
		})
	})
	require.Empty(t, alive(cmd))
}

// Run's own manager leaves deliberately detached processes running, such as a browser.
func TestRunKeepsWhatIsDetached(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it takes setsid and /proc")
	}
	cmd, ran := agentCommand(t)
	require.NoError(t, signin.Run(soon(t), cmd, typed("detach"), newPerson(t, nil), nil))
	require.FileExists(t, ran)
	found := alive(cmd)
	require.Len(t, found, 1)
	pid, err := strconv.Atoi(strings.Fields(found[0])[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool { return len(alive(cmd)) == 0 }, time.Minute, time.Millisecond)
}

// Concurrent runs of one method do not disturb each other.
func TestRunConcurrently(t *testing.T) {
	cmd, _ := agentCommand(t)
	m := acptermtest.NewManager(t, nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := signin.Run(soon(t), cmd, typed("login"), knowing(t), &signin.Options{Manager: m}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
