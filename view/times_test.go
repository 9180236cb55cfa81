package view_test

// When lines were written, by the fake clock of testing/synctest.

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sort"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

// times is the response to a request for times.
type times struct {
	Started, Ended               int64
	From, End, Lines, Mark, All  int64
	Times                        [][2]int64
	status, compressed, received int
}

// of returns when a line, counted from 0, was written: after one time and by another, or by -1 if that is not known.
func (x times) of(line int64) (after, by int64) {
	i := sort.Search(len(x.Times), func(i int) bool { return x.Times[i][0] > line })
	if i > 0 {
		after = x.Times[i-1][1]
	}
	if i == len(x.Times) {
		return after, -1
	}
	return after, x.Times[i][1]
}

// inBubble runs a test with a fake clock. The view has no server.
func inBubble(t *testing.T, options acpterm.Options, commands acptermtest.Commands, test func(*testing.T, *viewer)) {
	synctest.Test(t, func(t *testing.T) {
		v := &viewer{t: t, Manager: made(t, commands, options)}
		v.view = must(view.New(v.Manager, &view.Options{Token: token}))
		defer v.view.Close()
		test(t, v)
	})
}

// times sends a request for a terminal's times, in this goroutine.
func (v *viewer) times(terminal *acpterm.Terminal, query string) (x times) {
	v.t.Helper()
	r := httptest.NewRequestWithContext(v.t.Context(), "GET", v.view.Path()+"terminals/"+keyOf(terminal)+"/times"+query, nil)
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	v.view.ServeHTTP(w, r)
	x.status = w.Code
	if w.Code != http.StatusOK {
		return x
	}
	require.Equal(v.t, "gzip", w.Header().Get("Content-Encoding"))
	x.compressed = w.Body.Len()
	text, err := io.ReadAll(must(gzip.NewReader(w.Body)))
	require.NoError(v.t, err)
	x.received = len(text)
	require.NoError(v.t, json.Unmarshal(text, &x))
	return x
}

// looks returns the number of goroutines that look at running commands.
func looks() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*table).watch(")
}

func TestTimesOfLines(t *testing.T) {
	inBubble(t, acpterm.Options{}, acptermtest.Commands{"make": func(p *acptermtest.Process) int {
		fmt.Fprint(p, "one\n")
		time.Sleep(time.Minute)
		fmt.Fprint(p, "two\nthr\xe2\x9c\x93")
		time.Sleep(10 * time.Second)
		fmt.Fprint(p, "ee\n")
		time.Sleep(50 * time.Millisecond)
		fmt.Fprint(p, "four\nfive")
		return 0
	}}, func(t *testing.T, v *viewer) {
		terminal := v.create("s", "make")
		time.Sleep(65 * time.Second)
		x := v.times(terminal, "?mark=8")
		require.EqualValues(t, []int64{0, 14, 2, 2}, []int64{x.From, x.End, x.Lines, x.Mark})
		require.Zero(t, x.Ended)
		first, by := x.of(0)
		require.Zero(t, first)
		require.LessOrEqual(t, by, int64(250))
		after, by := x.of(1)
		require.GreaterOrEqual(t, after, int64(59_750))
		require.LessOrEqual(t, after, int64(60_000))
		require.GreaterOrEqual(t, by, int64(60_000))
		require.LessOrEqual(t, by, int64(60_250))
		_, by = x.of(2)
		require.EqualValues(t, -1, by, "it is not whole")
		require.LessOrEqual(t, x.All, int64(60_250))
		require.GreaterOrEqual(t, x.All, int64(60_000))

		time.Sleep(10 * time.Second)
		rest := v.times(terminal, fmt.Sprint("?from=", x.End))
		require.EqualValues(t, []int64{14, 26, 2, -1}, []int64{rest.From, rest.End, rest.Lines, rest.Mark})
		require.EqualValues(t, 70_050, rest.Ended-rest.Started)
		after, by = rest.of(0)
		require.GreaterOrEqual(t, after, int64(69_750))
		require.GreaterOrEqual(t, by, int64(70_000))
		require.LessOrEqual(t, by, int64(70_250))
		_, by = rest.of(1)
		require.EqualValues(t, 70_050, by, "its end is known")
		require.EqualValues(t, 70_050, rest.All)

		whole := v.times(terminal, "")
		require.EqualValues(t, []int64{0, 26, 4, 0}, []int64{whole.From, whole.End, whole.Lines, whole.Mark})
		for line := range x.Lines {
			_, then := x.of(line)
			_, now := whole.of(line)
			require.Equal(t, then, now, "a time does not change")
		}
	})
}

// A request between two looks also knows that there was no output before.
func TestTimesBetweenLooks(t *testing.T) {
	inBubble(t, acpterm.Options{}, acptermtest.Commands{"make": func(p *acptermtest.Process) int {
		fmt.Fprint(p, "one\n")
		time.Sleep(time.Minute + 10*time.Millisecond)
		fmt.Fprint(p, "two\n")
		return acptermtest.Block(p)
	}}, func(t *testing.T, v *viewer) {
		terminal := v.create("s", "make")
		time.Sleep(time.Minute + 20*time.Millisecond)
		after, by := v.times(terminal, "").of(1)
		require.GreaterOrEqual(t, after, int64(59_750))
		require.LessOrEqual(t, by, int64(60_020))
	})
}

// Output that comes after the command's end, from a process that holds it, is not said to be of its end.
func TestTimesAfterTheEnd(t *testing.T) {
	inBubble(t, acpterm.Options{}, acptermtest.Commands{"make": func(p *acptermtest.Process) int {
		fmt.Fprint(p, "made\n")
		p.Spawn(func(p *acptermtest.Process) int {
			time.Sleep(time.Minute)
			fmt.Fprint(p, "late\n")
			return acptermtest.Block(p)
		})
		return 0
	}}, func(t *testing.T, v *viewer) {
		terminal := v.create("s", "make")
		time.Sleep(2 * time.Second)
		require.Zero(t, looks(), "the command has ended")
		require.EqualValues(t, 1, v.times(terminal, "").Lines)
		time.Sleep(time.Hour)
		x := v.times(terminal, "")
		require.EqualValues(t, 2, x.Lines)
		after, by := x.of(1)
		require.EqualValues(t, 3602_000, by)
		require.LessOrEqual(t, after, int64(60_000))
		time.Sleep(time.Minute)
		require.Equal(t, x.Times, v.times(terminal, "").Times)
	})
}

// A day of output has a bounded number of times. They get less exact, but none is wrong.
func TestTimesAreBounded(t *testing.T) {
	const lines, pause = 24 * 3600, time.Second
	inBubble(t, acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 10 * lines}}, acptermtest.Commands{
		"serve": func(p *acptermtest.Process) int {
			for i := range lines {
				fmt.Fprintf(p, "%d\n", i)
				p.Sleep(pause)
			}
			return 0
		}}, func(t *testing.T, v *viewer) {
		terminal := v.create("s", "serve")
		for elapsed := time.Duration(0); elapsed < lines*pause; elapsed += 8 * time.Hour {
			time.Sleep(8 * time.Hour)
			x := v.times(terminal, "")
			require.LessOrEqual(t, len(x.Times), 4097)
			require.Less(t, x.received, 100_000)
			most := int64(0)
			for line := range x.Lines {
				after, by := x.of(line)
				if by < 0 && line == (time.Now().UnixMilli()-x.Started)/1000 {
					continue // written at the moment of the request
				}
				written := line * pause.Milliseconds()
				if after > written || by < written {
					t.Fatalf("line %d of %d: after %d, by %d", line, written, after, by)
				}
				most = max(most, by-written)
			}
			require.LessOrEqual(t, most, x.Lines*1000/1024)
			t.Log(elapsed, len(x.Times), x.received, x.compressed, most)
		}
		time.Sleep(time.Minute)
		require.Zero(t, looks())
	})
}

// The times are those of the retained output.
func TestTimesOfRetainedOutput(t *testing.T) {
	inBubble(t, acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 20_000, FollowBytes: 1}}, acptermtest.Commands{
		"serve": func(p *acptermtest.Process) int {
			for i := range 100_000 {
				fmt.Fprintf(p, "%09d\n", i)
				p.Sleep(100 * time.Millisecond)
			}
			return 0
		}}, func(t *testing.T, v *viewer) {
		terminal := v.create("s", "serve")
		time.Sleep(4 * time.Hour)
		x := v.times(terminal, "?mark=999990")
		require.InDelta(t, 980_000, x.From, 500)
		require.EqualValues(t, 1_000_000, x.End)
		require.EqualValues(t, x.Lines-1, x.Mark)
		require.EqualValues(t, -1, v.times(terminal, "?mark=10").Mark)
		for line := range x.Lines {
			after, by := x.of(line)
			written := (100_000 - x.Lines + line) * 100
			require.LessOrEqual(t, after, written)
			require.GreaterOrEqual(t, by, written)
			require.LessOrEqual(t, by, written+250, "exact, because the times of dropped output make room")
		}
	})
}

// Nothing runs while no command does, after the View is closed, and for the commands of a removed source.
func TestTimesCostNothingWhileIdle(t *testing.T) {
	require.Zero(t, looks())
	inBubble(t, acpterm.Options{}, acptermtest.Commands{"serve": acptermtest.Block}, func(t *testing.T, v *viewer) {
		require.Zero(t, looks())
		for range 2 {
			one, two := v.create("s", "serve"), v.create("s", "serve")
			time.Sleep(time.Hour)
			require.Equal(t, 1, looks())
			require.NoError(t, v.Release(t.Context(), "s", one.ID()))
			time.Sleep(time.Second)
			require.Equal(t, 1, looks())
			require.NoError(t, v.Release(t.Context(), "s", two.ID()))
			time.Sleep(time.Second)
			require.Zero(t, looks())
		}
		other := made(t, acptermtest.Commands{"serve": acptermtest.Block}, acpterm.Options{})
		source := v.view.Add(other, "other")
		terminal, err := other.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "serve"}, nil)
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Equal(t, 1, looks())
		source.Remove()
		time.Sleep(time.Second)
		require.Zero(t, looks())
		require.Equal(t, acpterm.StateRunning, terminal.State())

		v.create("s", "serve")
		time.Sleep(time.Second)
		require.Equal(t, 1, looks())
		before := time.Now()
		require.NoError(t, v.view.Close())
		require.Zero(t, looks())
		require.Equal(t, before, time.Now(), "it waits for no look")
		v.create("s", "serve")
		time.Sleep(time.Second)
		require.Zero(t, looks())
	})
}

// Times that the view cannot know are not made up.
func TestUnknownTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texts := make(chan string)
		m := made(t, acptermtest.Commands{"old": acptermtest.Print("before\n", 0), "make": viewtest.Steps(texts)}, acpterm.Options{})
		v := &viewer{t: t, Manager: m}
		old, running := v.create("s", "old"), v.create("s", "make")
		texts <- "before\n"
		synctest.Wait()
		time.Sleep(time.Hour)
		v.view = must(view.New(m, &view.Options{Token: token}))
		defer v.view.Close()

		x := v.times(old, "")
		require.EqualValues(t, []int64{0, 7, 1, -1}, []int64{x.From, x.End, x.Lines, x.All})
		require.Empty(t, x.Times)
		require.NotZero(t, x.Ended)

		texts <- "since\n"
		time.Sleep(time.Second)
		x = v.times(running, "")
		after, by := x.of(0)
		require.Zero(t, after)
		require.EqualValues(t, 3600_000, by, "when the view first saw it")
		after, by = x.of(1)
		require.EqualValues(t, 3600_000, after)
		require.LessOrEqual(t, by, int64(3600_250))

		a := viewtest.NewAgent(t, m, agentterm.Options{})
		own := a.Update("s", "t1", viewtest.Snapshot("one\ntwo\n"))
		time.Sleep(time.Second)
		x = v.times(own, "")
		require.EqualValues(t, []int64{2, -1}, []int64{x.Lines, x.All})
		require.Empty(t, x.Times)
		close(texts)
	})
}

func TestRequestsForTimes(t *testing.T) {
	v, terminal, texts := newSteps(t)
	texts <- "made\n"
	path := "terminals/" + keyOf(terminal) + "/times"
	response := v.request("GET", path, func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") })
	require.Equal(t, "application/json", response.Header.Get("Content-Type"))
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	require.Empty(t, response.Header.Get("Content-Encoding"))
	require.EqualValues(t, 5, decode[times](t, must(io.ReadAll(response.Body))).End)
	for _, query := range []string{"?from=-1", "?from=x", "?mark=-1", "?mark=99999999999999999999"} {
		require.Equal(t, http.StatusBadRequest, v.request("GET", path+query, nil).StatusCode, query)
	}
	require.Equal(t, http.StatusOK, v.request("GET", path+"?from=1000000", nil).StatusCode)
	require.Equal(t, http.StatusNotFound, v.request("GET", "terminals/none/times", nil).StatusCode)
	require.Equal(t, http.StatusMethodNotAllowed, v.request("POST", path, nil).StatusCode)
	close(texts)
}

// A text is whole whatever its length, and one that ends within a character comes without the rest.
func TestTextEndsWithItsLastBytes(t *testing.T) {
	t.Parallel()
	commands := acptermtest.Commands{"serve": func(p *acptermtest.Process) int {
		fmt.Fprint(p, "\xe2")
		return acptermtest.Block(p)
	}}
	long := strings.Repeat("0123456789abcdef", 5<<10)
	for size := 64<<10 - 16; size < 64<<10+16; size++ {
		commands[fmt.Sprint("print ", size)] = acptermtest.Print(long[:size], 0)
	}
	v := newViewer(t, made(t, commands, acpterm.Options{MaxTerminals: 100}), view.Options{})
	text := func(terminal *acpterm.Terminal) string {
		return string(must(io.ReadAll(v.request("GET", "terminals/"+keyOf(terminal)+"/text", nil).Body)))
	}
	for size := 64<<10 - 16; size < 64<<10+16; size++ {
		terminal := v.create("s", "print", fmt.Sprint(size))
		terminal.Wait(context.Background())
		require.True(t, text(terminal) == long[:size], "%d bytes", size)
	}
	partial := v.create("s", "serve")
	require.Eventually(t, func() bool { return partial.OutputTotal() > 0 }, timeout, time.Millisecond)
	require.Empty(t, text(partial))
}
