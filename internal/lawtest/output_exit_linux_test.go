package lawtest

// Laws 1 and 2 under load: all output of an ended command is there, byte for byte, in every way of reading it.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/longtest"
	testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// outputChildren returns the children of these tests.
func outputChildren() map[string]func(args []string) {
	return map[string]func(args []string){
		// widened FILE: writes the whole file to a pipe that it has widened to a mebibyte.
		"widened": func(args []string) {
			text, err := os.ReadFile(args[0])
			if err == nil {
				_, err = unix.FcntlInt(1, unix.F_SETPIPE_SZ, 1<<20)
			}
			if err == nil {
				_, err = unix.Write(1, text)
			}
			if err != nil {
				panic(err)
			}
		},
		// last-words FILE READY: writes the file on SIGTERM, and exits; creates READY when it is ready for that.
		"last-words": func(args []string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM)
			text, err := os.ReadFile(args[0])
			if err == nil {
				err = os.WriteFile(args[1], nil, 0o600)
			}
			if err != nil {
				panic(err)
			}
			<-terminate
			os.Stdout.Write(text)
		},
		"splice": splice,
	}
}

// burst is a file that commands write to their output.
type burst struct {
	path, shown string // shown is the required output
	size        int    // in bytes, as written
}

// bursts creates files of random sizes. The last character of some is unfinished.
func bursts(t testing.TB, n, most int) []burst {
	t.Helper()
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	all := make([]burst, n)
	var text strings.Builder
	for text.Len() < 2*most {
		fmt.Fprintf(&text, "line %d\n", text.Len())
	}
	for i := range all {
		written := text.String()[rnd.IntN(most):][:1+rnd.IntN(most)]
		shown := written
		if i%3 == 0 {
			written, shown = written+"\xe2", shown+"\uFFFD"
		}
		all[i] = burst{filepath.Join(dir, strconv.Itoa(i)), shown, len(written)}
		require.NoError(t, os.WriteFile(all[i].path, []byte(written), 0o600))
	}
	return all
}

// check compares an output. It omits the text from the message, which could be 300 KiB.
func (b burst) check(t testing.TB, how, output string) {
	if output != b.shown {
		t.Errorf("%s: %d bytes of %d", how, len(output), len(b.shown))
	}
}

// sign returns the file that the i-th command creates when it is ready.
func (b burst) sign(i int) string { return fmt.Sprint(b.path, ".", i) }

// runsOf returns how many commands a test runs: n in .ci/long, and a fifth of it elsewhere. The soak runs thousands.
func runsOf(n int) int { return longtest.Times(n/5, n) }

// inParallel calls a function for each number below n, eight at a time.
func inParallel(n int, f func(i int)) {
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for i := worker; i < n; i += 8 {
				f(i)
			}
		})
	}
	workers.Wait()
}

// inTerminals runs n commands, eight at a time. Each writes one of the bursts. Each terminal is checked and released.
func inTerminals(t *testing.T, m *acpterm.Manager, n int, files []burst,
	request func(i int, b burst) acpterm.CreateTerminalRequest, check func(i int, b burst, term *acpterm.Terminal)) {
	inParallel(n, func(i int) {
		b := files[i%len(files)]
		term, err := m.Create(t.Context(), request(i, b), nil)
		if !assertStarted(t, err) {
			return
		}
		check(i, b, term)
		if err := m.Release(t.Context(), "s", term.ID()); err != nil {
			t.Error(err)
		}
	})
}

// Commands write up to 300 KiB and exit immediately.
func TestNothingIsLostAtExitBesideALoad(t *testing.T) {
	inLongAlsoOnOneProcessor(t)
	underLoad(t)
	var events hosttest.Ends
	m := hosttest.NewManager(t, nil, events.Hook)
	runs := runsOf(80)
	files := bursts(t, min(runs, 40), 300<<10)
	terminals := make([]*acpterm.Terminal, runs)
	request := func(_ int, b burst) acpterm.CreateTerminalRequest { return hosttest.CommandRequest("cat", b.path) }
	inTerminals(t, m, runs, files, request, func(i int, b burst, term *acpterm.Terminal) {
		terminals[i] = term
		var followed strings.Builder
		var follower sync.WaitGroup
		if i%4 == 0 {
			follower.Go(func() {
				for chunk := range term.Follow(t.Context(), 0) {
					followed.WriteString(chunk.Text)
				}
			})
		}
		status, err := term.Wait(t.Context())
		out := term.Output()
		if err != nil || !status.Success() || out.ExitStatus == nil {
			t.Errorf("%v, %v, and in the output %v", status, err, out.ExitStatus)
		}
		b.check(t, "Output after Wait", out.Output)
		if total := term.OutputTotal(); total != int64(b.size) {
			t.Errorf("OutputTotal after Wait: %d of %d", total, b.size)
		}
		if follower.Wait(); i%4 == 0 {
			b.check(t, "Follow", followed.String())
		}
	})
	require.NoError(t, m.Close())
	for i, term := range terminals {
		if term == nil {
			continue
		}
		ends := events.Ended[term.ID()]
		if len(ends) != 1 || ends[0].Bytes != int64(files[i%len(files)].size) {
			t.Errorf("the EndEvents of %d bytes: %v", files[i%len(files)].size, ends)
		}
	}
}

// An answer to terminal/output with an exitStatus contains all of the output.
func TestWireOutputWithAnExitStatusIsWhole(t *testing.T) {
	inLongAlsoOnOneProcessor(t)
	underLoad(t)
	a := hosttest.Connect(t, hosttest.NewManager(t, nil), nil)
	for _, b := range bursts(t, runsOf(20), 200<<10) {
		id := a.Create("widened", b.path)
		a.MustDo("terminal/wait_for_exit", hosttest.Of(id))
		out := a.Output(id)
		require.True(t, out.ExitStatus.Success())
		b.check(t, "output with an exitStatus", out.Output)
		a.MustDo("terminal/release", hosttest.Of(id))
	}
}

// When Kill returns, the output contains everything that the command wrote before.
func TestOutputAfterKillIsWhole(t *testing.T) {
	inLongAlsoOnOneProcessor(t)
	underLoad(t)
	request := func(i int, b burst) acpterm.CreateTerminalRequest {
		return shellRequest(fmt.Sprintf("cat %s && : >%s && exec sleep 300", b.path, b.sign(i)))
	}
	runs := runsOf(50)
	m, files := hosttest.NewManager(t, nil), bursts(t, min(runs, 20), 64<<10)
	inTerminals(t, m, runs, files, request, func(i int, b burst, term *acpterm.Terminal) {
		testchildren.AwaitFile(b.sign(i))
		if err := term.Kill(t.Context()); err != nil {
			t.Error(err)
		}
		b.check(t, "Output after Kill", term.Output().Output)
	})
}

// Bytes that a background process writes on SIGTERM are in the output when the kill or the release has returned.
func TestLastWordsOfABackgroundProcess(t *testing.T) {
	inLongAlsoOnOneProcessor(t)
	underLoad(t)
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Minute}},
		},
	})
	request := func(i int, b burst) acpterm.CreateTerminalRequest {
		line := strings.Join(hosttest.ChildArgs("last-words", b.path, b.sign(i)), " ")
		return shellRequest(line + " & " + []string{"wait", "exit 0"}[i%2])
	}
	inTerminals(t, m, runsOf(50), bursts(t, 20, 60_000), request, func(i int, b burst, term *acpterm.Terminal) {
		testchildren.AwaitFile(b.sign(i))
		how, end := "kill", func() error { return term.Kill(t.Context()) }
		if i/2%2 == 1 {
			how, end = "release", func() error { return m.Release(t.Context(), "s", term.ID()) }
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		b.check(t, "Output after the "+how, term.Output().Output)
	})
}

// A character left unfinished by the command is shown when it has ended, even if another process holds the pipe.
func TestAnUnfinishedCharacterOfAnEndedCommand(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Finish(t, m, shellRequest(`sleep 300 & printf 'a\342'`))
	require.Equal(t, "a\uFFFD", term.Output().Output)
	for chunk := range term.Follow(t.Context(), 0) {
		require.Equal(t, "a\uFFFD", chunk.Text)
		break
	}
}

// A pipe may hold more than the library expects.
func TestACommandThatWidensItsPipe(t *testing.T) {
	inLongAlsoOnOneProcessor(t)
	underLoad(t)
	request := func(_ int, b burst) acpterm.CreateTerminalRequest { return hosttest.ChildRequest("widened", b.path) }
	runs := runsOf(20)
	m, files := hosttest.NewManager(t, nil), bursts(t, min(runs, 10), 600<<10)
	inTerminals(t, m, runs, files, request, func(_ int, b burst, term *acpterm.Terminal) {
		if status, err := term.Wait(t.Context()); err != nil || !status.Success() {
			t.Error(status, err)
		}
		b.check(t, "Output after Wait", term.Output().Output)
	})
}

// If one way of asking shows that the command has ended, all others do too.
func TestStateAndStatusArePublishedAtOnce(t *testing.T) {
	inLongAlsoOnOneProcessor(t)
	underLoad(t)
	m := hosttest.NewManager(t, nil)
	for range runsOf(100) {
		term := hosttest.Create(t, m, shellRequest("echo done"))
		for term.State() == acpterm.StateRunning {
			runtime.Gosched()
		}
		out := term.Output()
		ended := term.Info().Ended
		require.NotNil(t, out.ExitStatus, "the state is %v", term.State())
		require.Equal(t, "done\n", out.Output)
		require.False(t, ended.IsZero())
		require.Equal(t, acpterm.EndedByItself, term.EndedBy())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := term.Wait(ctx)
		require.NoError(t, err)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// splice hands its pages, with numbered lines, to the pipe for some milliseconds (man 2 vmsplice). It rewrites a page
// as soon as a pipe's worth of pages has followed it, because it has been read by then.
func splice(args []string) {
	const page = 4096
	size, err := unix.FcntlInt(1, unix.F_GETPIPE_SZ, 0)
	if err != nil {
		panic(err)
	}
	slots := size/page + 1
	mem, err := unix.Mmap(-1, 0, slots*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		panic(err)
	}
	line := 0
	for end, n := time.Now().Add(time.Duration(hosttest.Number(args[0]))*time.Millisecond), 0; time.Now().Before(end); n++ {
		left := mem[n%slots*page:][:page]
		for i := 0; i < page; i += numberedLine {
			copy(left[i:], fmt.Sprintf("%0*d\n", numberedLine-1, line))
			line++
		}
		for len(left) > 0 {
			vector := unix.Iovec{Base: &left[0]}
			vector.SetLen(len(left))
			done, _, errno := unix.Syscall6(unix.SYS_VMSPLICE, 1, uintptr(unsafe.Pointer(&vector)), 1, 0, 0, 0)
			if errno != 0 && errno != unix.EINTR {
				panic(errno)
			}
			if errno == 0 {
				left = left[done:]
			}
		}
		if n%slots == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

const numberedLine = 16 // bytes; divides a page

// requireNumberedLines fails if a text is not the end of a sequence of numbered lines.
func requireNumberedLines(t testing.TB, text string) {
	t.Helper()
	text = text[len(text)%numberedLine:]
	previous := -1
	for ; text != ""; text = text[numberedLine:] {
		n, err := strconv.Atoi(text[:numberedLine-1])
		require.NoError(t, err)
		if previous >= 0 {
			require.Equal(t, previous+1, n)
		}
		previous = n
	}
}

// The output has the bytes as written, even if the command then reuses its memory.
func TestPagesThatAreWrittenAnew(t *testing.T) {
	underLoad(t)
	m := hosttest.NewManager(t, nil)
	for range longtest.Times(1, 100) {
		term := hosttest.Create(t, m, hosttest.ChildRequest("splice", "300"))
		for over := false; !over; {
			select {
			case <-term.Done():
				over = true
			case <-time.After(2 * time.Millisecond):
			}
			requireNumberedLines(t, term.Output().Output)
		}
		require.True(t, term.Output().ExitStatus.Success())
		require.NotEmpty(t, term.Output().Output)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}
