package embedtest

// What the processes of a terminal do, as observers see it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
)

func onPTY() *acpterm.CommandOptions {
	return &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Attended: true}}
}

// until waits until a terminal's activity is as wanted, and returns it.
func until(t *testing.T, term *acpterm.Terminal, wanted func(acpterm.Activity) bool) acpterm.Activity {
	t.Helper()
	for a, err := range term.Watch(t.Context()) {
		require.NoError(t, err)
		if wanted(a) {
			return a
		}
	}
	require.FailNow(t, "the watch has ended", term.Output().Output)
	return acpterm.Activity{}
}

func is(state string) func(acpterm.Activity) bool {
	return func(a acpterm.Activity) bool { return a.State == state }
}

// prompts are programs that print "? ", wait for a line of input in different ways, print it after "got ", and then wait
// for nothing that they could read.
var prompts = map[string][]string{
	"bash":          {"bash", "-c", `read -p "? " x; echo "got $x"; exec sleep 1000`},
	"bash -t":       {"bash", "-c", `read -t 900 -p "? " x; echo "got $x"; exec sleep 1000`},
	"readline":      {"bash", "-c", `read -e -p "? " x; echo "got $x"; exec sleep 1000`},
	"/dev/tty":      {"sh", "-c", `printf "? "; read x </dev/tty; echo "got $x"; exec sleep 1000`},
	"own session":   {"setsid", "-w", "sh", "-c", `printf "? "; read x; echo "got $x"; exec sleep 1000`},
	"cat":           {"sh", "-c", `printf "? got "; head -n 1 | cat; exec sleep 1000`},
	"python":        {"python3", "-c", "import time; print('got', input('? ')); time.sleep(1000)"},
	"python thread": {"python3", "-c", pythonThread},
	"python select": {"python3", "-c", pythonWaits("select.select([sys.stdin], [], [])")},
	"python poll":   {"python3", "-c", pythonWaits("p = select.poll(); p.register(0, select.POLLIN); p.poll()")},
	"python epoll":  {"python3", "-c", pythonWaits("p = select.epoll(); p.register(0, select.EPOLLIN); p.poll()")},
	"node": {"node", "-e", `require("readline").createInterface(process.stdin, process.stdout).question("? ",
		x => { console.log("got " + x); process.stdin.destroy(); setTimeout(() => {}, 1e6) })`},
}

const pythonThread = `import threading, time
threading.Thread(target=lambda: print('got', input('? '), flush=True)).start()
time.sleep(1000)`

func pythonWaits(how string) string {
	return "import select, sys, time; print('? ', end='', flush=True); " + how +
		"; print('got', sys.stdin.readline(), flush=True); time.sleep(1000)"
}

// Whatever call a program waits in, it is seen waiting, and all that it has printed can be read then. It is not seen
// waiting any more once it has its input.
func TestAProgramWaitsForInput(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	prompt := func(name string, o *acpterm.CommandOptions) {
		t.Run(name, func(t *testing.T) {
			args := prompts[name]
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skip(err)
			}
			term := hosttest.Create(t, m, hosttest.CommandRequest(args[0], args[1:]...), o)
			until(t, term, is("input"))
			require.Contains(t, term.Output().Output, "? ")
			fmt.Fprintln(term, "yes")
			hosttest.AwaitOutput(t, term, "got yes")
			until(t, term, is("idle"))
			require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		})
	}
	for name := range prompts {
		prompt(name, onPTY())
	}
	for _, name := range []string{"cat", "own session", "python", "python epoll", "node"} {
		prompt(name, &acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{}})
	}
}

// A REPL waits for input, also after each answer, on a PTY and with a pipe.
func TestAREPLWaitsForInput(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for _, repl := range []struct{ program, args, says, answer, require string }{
		{"sqlite3", ":memory:", "select 6 * 7;", "42", "ACPTERM_REQUIRE_SQLITE"},
		{"python3", "-qi", "6 * 7", "42", "ACPTERM_REQUIRE_PYTHON"},
		{"node", "-i", "6 * 7", "42", ""},
	} {
		for on, o := range map[string]*acpterm.CommandOptions{"PTY": onPTY(), "pipe": {Stdin: &acpterm.StdinOptions{}}} {
			t.Run(repl.program+" "+on, func(t *testing.T) {
				if _, err := exec.LookPath(repl.program); err != nil && os.Getenv(repl.require) == "" {
					t.Skip(err)
				}
				term := hosttest.Create(t, m, hosttest.CommandRequest(repl.program, repl.args), o)
				until(t, term, is("input"))
				fmt.Fprintln(term, repl.says)
				hosttest.AwaitOutput(t, term, repl.answer)
				until(t, term, is("input"))
				require.NoError(t, m.Release(t.Context(), "s", term.ID()))
			})
		}
	}
}

// Watching costs something only while someone watches: no terminal of many has a goroutine for its processes.
func TestUnwatchedTerminalsCostNothing(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{
		Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGKILL, Wait: 5 * time.Minute}}, // all end at once
	}})
	watches := regexp.MustCompile(`acpterm/internal/proc\.(Watch|AwaitIdle)\+|\.\(\*Terminal\)\.watchTree\+`)
	watching := func() (n int) {
		var stacks strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1)) // equal ones once, after their number
		for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
			if watches.MatchString(stack) {
				n += hosttest.Number(strings.Fields(stack)[0])
			}
		}
		return n
	}
	count := longtest.Times(200, 2000)
	var last *acpterm.Terminal
	before := runtime.NumGoroutine()
	for range count {
		last = hosttest.Create(t, m, hosttest.CommandRequest("sleep", "1000"))
	}
	require.Zero(t, watching())
	require.Less(t, runtime.NumGoroutine()-before, count+count/2, "one for each terminal's output, and the Manager's")
	for range last.Watch(t.Context()) {
		require.Equal(t, 1, watching())
		break
	}
	require.Zero(t, watching())
	last.Gone()
	require.Eventually(t, func() bool { return watching() == 1 }, time.Minute, time.Millisecond)
}

// These programs do not wait for the user.
func TestAProgramDoesNotWaitForInput(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for name, c := range map[string]struct {
		args []string
		is   string
	}{
		"sleeps":              {[]string{"sleep", "1000"}, "idle"},
		"reads another":       {[]string{"sh", "-c", "sleep 1000 | cat"}, "idle"},
		"polls another":       {[]string{"python3", "-c", "import os, select; select.select([os.pipe()[0]], [], [])"}, "idle"},
		"polls for room":      {[]string{"python3", "-c", "import select; p = select.poll(); p.register(0, 0); p.poll()"}, "idle"},
		"in the background":   {[]string{"bash", "-mc", "python3 -c 'import select; select.select([0], [], [])' & exec sleep 1000"}, "idle"},
		"works":               {[]string{"sh", "-c", "while :; do :; done"}, "busy"},
		"a child of it works": {[]string{"sh", "-c", "(while :; do :; done) & exec sleep 1000"}, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.args[0]); err != nil {
				t.Skip(err)
			}
			term := hosttest.Create(t, m, hosttest.CommandRequest(c.args[0], c.args[1:]...), onPTY())
			if c.args[0] == "python3" { // once it is there
				until(t, term, is("idle"))
			}
			until(t, term, func(a acpterm.Activity) bool {
				require.NotEqual(t, "input", a.State)
				return a.State == c.is
			})
			require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		})
	}
}

// A watch ends with the tree, and not before: the processes that a command leaves behind are shown after its end.
func TestAWatchEndsWithTheTree(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Finish(t, m, terminaltest.ShellRequest("sleep 1000 >/dev/null 2>&1 & echo $!"))
	watched := make(chan error, 1)
	idle := make(chan bool, 1)
	go func() {
		var failed error
		for a, err := range term.Watch(t.Context()) {
			failed = errors.Join(failed, err)
			if a.State == "idle" {
				idle <- true
			}
		}
		watched <- failed
	}()
	<-idle
	list, err := term.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, fmt.Sprintln(list[0].PID), term.Output().Output)
	require.NoError(t, term.Kill(t.Context()))
	require.NoError(t, <-watched)
	list, err = term.Processes(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

// Ports of the tree are listed once it listens, those of this process never, and they are gone when it closes them.
func TestPortsOfATree(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer other.Close()
	const program = `import socket
s4 = socket.create_server(("127.0.0.1", 0)); s6 = socket.create_server(("::", 0), family=socket.AF_INET6)
print(s4.getsockname()[1], s6.getsockname()[1], "ready", flush=True); input(); s4.close(); s6.close(); input()`
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, terminaltest.ShellRequest("python3 -c '"+program+"'; true"), onPTY())
	hosttest.AwaitOutput(t, term, "ready")
	var four, six uint16
	_, err = fmt.Sscan(term.Output().Output, &four, &six)
	require.NoError(t, err)
	want := []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), four), netip.AddrPortFrom(netip.IPv6Unspecified(), six)}
	require.Equal(t, want, until(t, term, func(a acpterm.Activity) bool { return len(a.Listening) > 0 }).Listening)
	list, err := term.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, term.Info().PID, list[0].PID)
	require.Equal(t, list[0].PID, list[1].Parent)
	require.Empty(t, list[0].Listening)
	require.Equal(t, want, list[1].Listening)
	require.Contains(t, list[1].Command, "python3 -c import socket")
	require.Positive(t, list[1].Memory)
	require.Positive(t, list[1].CPUTime)
	fmt.Fprintln(term)
	until(t, term, func(a acpterm.Activity) bool { return len(a.Listening) == 0 && a.State != "" })
}

// A kill does not wait for observers, and observers do not keep anything alive.
func TestKillsWhileManyWatch(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for range 10 {
		term := hosttest.Create(t, m, terminaltest.ShellRequest("for i in 1 2 3 4 5; do sleep 1000 & done; setsid sleep 1000 & wait"))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		const watchers = 8
		for range watchers {
			go func() {
				for ctx.Err() == nil {
					if _, err := term.Processes(t.Context()); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
				ended <- true
			}()
		}
		require.NoError(t, term.Kill(t.Context()))
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		cancel()
		for range watchers {
			<-ended
		}
	}
}

// Only silence without work is idle.
func TestIdleCommandsEnd(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for name, c := range map[string]struct {
		line  string
		limit time.Duration
		by    acpterm.EndedBy
	}{
		"sleeps":  {"sleep 1000", 200 * time.Millisecond, acpterm.EndedByIdle},
		"left":    {"sleep 1000 & wait", 200 * time.Millisecond, acpterm.EndedByIdle},
		"works":   {"i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done", 500 * time.Millisecond, acpterm.EndedByItself},
		"a child": {"(i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done) & wait", 500 * time.Millisecond, acpterm.EndedByItself},
		"prints":  {"for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; echo $i; done", time.Second, acpterm.EndedByItself},
	} {
		t.Run(name, func(t *testing.T) {
			term := hosttest.Create(t, m, terminaltest.ShellRequest(c.line), &acpterm.CommandOptions{IdleTimeout: c.limit})
			status, err := term.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.by, term.EndedBy())
			meta := hosttest.EndedBy(c.by)
			if c.by == acpterm.EndedByIdle {
				meta["acpterm"] = json.RawMessage(`{"endedBy":"idle","idleMs":200}`)
			}
			require.Equal(t, meta, status.Meta)
			require.NoError(t, term.Kill(t.Context())) // waits for the tree
			list, err := term.Processes(t.Context())
			require.NoError(t, err)
			require.Empty(t, list)
		})
	}
}

// Observers of processes elsewhere get an error.
func TestProcessesThatCannotBeListed(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Runner: listless{acptermtest.Commands{"block": acptermtest.Block}}})
	elsewhere := hosttest.Create(t, m, hosttest.CommandRequest("block"))
	var attached *acpterm.Terminal
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: func(term *acpterm.Terminal) { attached = term }})
	defer h.Close()
	_, err := h.Attach(acpterm.TerminalInfo{ID: "attached", SessionID: "s"}, nil, nil)
	require.NoError(t, err)
	for _, term := range []*acpterm.Terminal{elsewhere, attached} {
		list, err := term.Processes(t.Context())
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.Empty(t, list)
		require.Equal(t, term == elsewhere, term.Info().Remote)
		for a, err := range term.Watch(t.Context()) {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.Zero(t, a)
		}
	}
}
