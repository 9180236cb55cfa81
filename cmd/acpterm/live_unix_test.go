//go:build linux || darwin || freebsd

package main

// The rows of running commands, as a terminal shows them, and commands on a PTY.

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	pty "github.com/acpterm/acpterm/internal/screen"
)

func init() {
	parts["progress"] = playProgress
	parts["agent-that-runs-many"] = func(args []string) { play(runMany(args)) }
	parts["agent-that-talks"] = func(args []string) { play(talkInPieces(args[0], args[1:]...)) }
}

// playProgress prints TEXT before each of the files is there, and then ends.
func playProgress(args []string) {
	for i := 0; i < len(args); i += 2 {
		os.Stdout.WriteString(args[i])
		if i+1 < len(args) {
			awaitFile(args[i+1])
		}
	}
}

// runMany runs so many commands at once that print a text and wait for a file. It talks meanwhile.
func runMany(args []string) script {
	return func(a *scripted) string {
		var all []acpterm.TerminalRequest
		n := len(args[0])
		for i := range n {
			all = append(all, a.create("progress", fmt.Sprintf("line %d\n%d%%", i+1, i+1), args[1], "\rdone  \n"))
			a.awaitOutput(all[i])
		}
		a.say("I am talking")
		awaitFile(args[1] + ".more")
		a.say(" to you,\nand I go on")
		for _, ref := range all {
			a.call(acpterm.MethodWaitForExit, ref, nil)
			a.call(acpterm.MethodRelease, ref, nil)
		}
		a.say(" at the end\n")
		return "end_turn"
	}
}

// talkInPieces says a text in small pieces, while a command runs that waits for a file, if there is one.
func talkInPieces(text string, file ...string) script {
	return func(a *scripted) string {
		if len(file) > 0 {
			a.awaitOutput(a.create("progress", "50%", file[0]))
		}
		for piece := range slices.Chunk([]rune(text), 3) {
			a.say(string(piece))
		}
		if len(file) > 0 {
			awaitFile(file[0])
		}
		return "end_turn"
	}
}

// Words are whole though they come in pieces, with and without colours, and above the row of a command.
func TestMessagesInPiecesAreBrokenBetweenWords(t *testing.T) {
	var words []string
	for i := range 120 {
		words = append(words, []string{"déjà", "✓", "⠋x"}[i%3]+strings.Repeat("x", i*i%11))
	}
	words = append(words, "end")
	for _, columns := range []int{40, 80, 120, 200} {
		want := []string{">"}
		for _, word := range words {
			last := len(want) - 1
			if utf8.RuneCountInString(want[last]+" "+word) > columns {
				want, last = append(want, ">"), last+1
			}
			want[last] += " " + word
		}
		for i, variable := range []string{"X=", "NO_COLOR=1", "TERM=dumb"} {
			running := (columns/40+i)%2 == 0
			t.Run(fmt.Sprint(columns, variable, running), func(t *testing.T) {
				t.Parallel()
				agent, create := part("agent-that-talks", strings.Join(words, " ")), func() {}
				if running {
					var goOn string
					goOn, create = file(t)
					agent = append(agent, goOn)
				}
				w := openWindow(t, columns, 12, []string{variable}, agent, "-prompt", "x")
				w.until(func() bool { return strings.Contains(w.emulator.String(), " end") }, "the last word")
				create()
				var said []string
				for _, row := range w.exit(exitTurnEnded) {
					if strings.HasPrefix(row, ">") {
						said = append(said, row)
					}
				}
				require.Equal(t, want, said)
			})
		}
	}
}

// A progress bar overwrites the row of its command, and the last state is printed once; also on a narrow terminal.
func TestProgressBarHasOneRow(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			goOn, create := file(t)
			bar := "\r日本 [" + strings.Repeat("#", columns) + "]"
			w := openWindow(t, columns, 12, nil, part("agent-that-looks", "progress",
				"start\n\x1b[31m0%"+bar, goOn, "\r\x1b[K50%", goOn+".2", "\r\x1b[K100%\n"), "-prompt", "x")
			w.await(`(?m)^\[1\] \| 日本 \[#+… ` + passed + `$`)
			w.Do(func() { require.Zero(t, count(w.rows(), "] | 0%")) })
			create()
			w.await(`(?m)^\[1\] \| 50% +` + passed + `$`)
			w.until(w.emulator.CursorHidden, "without a cursor")
			require.NoError(t, os.WriteFile(goOn+".2", nil, 0o600))
			rows := w.exit(exitTurnEnded)
			require.Equal(t, 1, count(rows, "100%"), "%q", rows)
			require.Zero(t, count(rows, "50%")+count(rows, "日本"), "%q", rows)
			require.Equal(t, 1, count(rows, "[1] = exited 0 in "), "%q", rows)
		})
	}
}

// Most characters of progress bars and spinners have one column. A row is cut where the terminal ends.
func TestARowOfOtherCharacters(t *testing.T) {
	for text, columns := range map[string]int{"⣿": 40, "■": 80, "✔": 120, "▶": 200, "…": 40} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			goOn, create := file(t)
			room := columns - len("[1] |  1 s ") - 1
			fits, long := strings.Repeat(text, room-1), strings.Repeat(text, columns)
			w := openWindow(t, columns, 12, nil, part("agent-that-looks", "progress",
				"\r\x1b[32m"+fits+"\x1b[m", goOn, "\r"+long, goOn+".2", "\r\x1b[K"), "-prompt", "x")
			w.await(`(?m)^\[1\] \| ` + fits + ` +` + passed + `$`)
			create()
			w.await(`(?m)^\[1\] \| ` + text + fmt.Sprintf(`{%d,%d}… `+passed+`$`, room-2, room))
			require.NoError(t, os.WriteFile(goOn+".2", nil, 0o600))
			w.exit(exitTurnEnded)
		})
	}
}

// count returns the number of rows with a text, except those of the agent.
func count(rows []string, text string) (n int) {
	for _, row := range rows {
		if strings.Contains(row, text) && !strings.Contains(row, " $ ") && !strings.HasPrefix(row, "> ") {
			n++
		}
	}
	return n
}

// Commands that run at once have a row each, below all text. Nothing of these rows stays, though the size changes.
func TestRowsOfRunningCommands(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		for _, many := range []int{2, 9} {
			t.Run(fmt.Sprint(columns, " ", many), func(t *testing.T) {
				t.Parallel()
				goOn, create := file(t)
				w := openWindow(t, columns, 24, nil, part("agent-that-runs-many", strings.Repeat("x", many), goOn), "-prompt", "x")
				w.await(fmt.Sprintf(`(?m)^> I am talking(\n.*)*^\[%d\] \| %d%% +`+passed+`$`, many, many))
				if many > mostRunning {
					w.await(`(?m)^acpterm: 3 more are running$`)
				}
				require.NoError(t, os.WriteFile(goOn+".more", nil, 0o600))
				w.await(`(?m)^> I am talking to you,\n> and I go on\n\[\d\] \| \d% +` + passed + `$`)
				row := regexp.MustCompile(fmt.Sprintf(`(?m)^\[%d\] \| %d%% +`+passed+`$`, many, many))
				for _, size := range [][2]int{{columns - 8, 24}, {columns + 40, 24}, {columns - 5, 24}, {columns, 24}} {
					w.resize(size[0], size[1])
					w.until(func() bool { return len(row.FindString(w.emulator.String())) == size[0]-1 }, fmt.Sprint(size))
				}
				create()
				rows := w.exit(exitTurnEnded)
				require.Equal(t, many, count(rows, "exited 0 in "))
				require.Equal(t, many, count(rows, "done"), "%q", rows)
				require.Zero(t, count(rows, "%")+count(rows, "are running"), "%q", rows)
				text := strings.Join(rows, "\n")
				require.Contains(t, text, "> I am talking to you,\n> and I go on")
				require.Contains(t, text, ">  at the end")
			})
		}
	}
}

// What NO_COLOR, TERM and CI ask for are plain lines.
func TestPlainLinesOnATerminal(t *testing.T) {
	for _, variable := range []string{"NO_COLOR=1", "TERM=dumb", "CI=true"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			w := openWindow(t, 80, 24, []string{variable}, part("agent-that-looks", "progress", "\x1b[31mred\n10%\r20%\n"), "-prompt", "x")
			rows := w.exit(exitTurnEnded)
			require.Equal(t, 1, count(rows, "[1] | red"))
			require.Equal(t, 1, count(rows, "[1] | 20%"))
			require.Equal(t, variable == "CI=true", strings.Contains(w.raw.String(), "\x1b["), "colours")
			require.NotContains(t, w.raw.String(), hideCursor)
		})
	}
}

// openRunning opens a window with a command that has shown a row, and returns a function that ends the command.
func openRunning(t *testing.T) (w *window, end func()) {
	goOn, create := file(t)
	w = openWindow(t, 80, 24, nil, part("agent-that-looks", "progress", "start\n50%", goOn, "\r100%\n"), "-prompt", "x")
	w.await(`(?m)^\[1\] \| 50% +` + passed + `$`)
	return w, create
}

// The rows go away when the user suspends the client, and come back.
func TestSuspended(t *testing.T) {
	t.Parallel()
	w, create := openRunning(t)
	pid := w.PID()
	require.NoError(t, syscall.Kill(pid, syscall.SIGTSTP))
	w.until(func() bool {
		return !w.emulator.CursorHidden() && !strings.Contains(w.emulator.String(), "] | 50%")
	}, "with a cursor and without rows")
	require.Eventually(t, func() bool { return isStopped(pid) }, time.Minute, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	w.await(`(?m)^\[1\] \| 50% +` + passed + `$`)
	create()
	require.Equal(t, 1, count(w.exit(exitTurnEnded), "100%"))
}

// isStopped reports whether a process is stopped. Where there is no /proc, the answer is yes.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") T ")
}

// While commands run, what the user types is not shown, because it would be among their rows.
func TestTypedWhileCommandsRun(t *testing.T) {
	t.Parallel()
	w, create := openRunning(t)
	w.press("typed\ntyped\n")
	create()
	require.NotContains(t, strings.Join(w.exit(exitTurnEnded), "\n"), "typed")
}

// The address of the page is below the running commands, with questions, and at the end.
func TestTheAddressOfThePageStaysInSight(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			goOn, create := file(t)
			w := openWindow(t, columns, 40, nil, part("agent-that-looks", "progress", "start\n50%", goOn, "\r100%\n"),
				"-view", "127.0.0.1:0", "-ask", "-prompt", "x")
			w.await(`(?m)^\? watch at http:(.*\n)+\? Run `)
			w.answer("never:", "y\r")
			w.await(`(?m)^\[1\] \| 50% +` + passed + `\nacpterm: watch at http:`)
			create()
			w.await(`(?m)^acpterm: the page stays at http:`)
			w.press("\x03")
			rows := w.exit(exitTurnEnded)
			require.Equal(t, 2, count(rows, " at http:")-count(rows, "? watch"), "%q", rows)
		})
	}
}

// However the client ends, the terminal shows again what the user types, and its cursor.
func TestTheTerminalIsAsBefore(t *testing.T) {
	for name, play := range map[string]func(w *window, create func()){
		"at the end":  func(w *window, create func()) { create() },
		"interrupted": func(w *window, create func()) { w.press("\x03"); w.await("cancelling"); w.press("\x03") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goOn, create := file(t)
			command := append([]string{"sh", "-c", `trap : INT; "$@"; stty -a`, "sh"},
				clientCommand(part("agent-that-looks", "progress", "start\n50%", goOn, "\r100%\n"), "-prompt", "x")...)
			w := openWindowWith(t, 120, 30, nil, command)
			w.await(`(?m)^\[1\] \| 50% +` + passed)
			play(w, create)
			text := strings.Join(w.exit(exitTurnEnded), "\n")
			for _, mode := range []string{"isig", "icanon", "echo", "icrnl"} {
				require.Regexp(t, `(?m)(^| )`+mode+` `, text)
			}
		})
	}
}

// ptyOutput returns all lines that are printed of output that comes in pieces, and those printed at the end.
func ptyOutput(pieces ...string) (lines, end string) {
	s := pty.New(20, 4, math.MaxInt32, 0)
	p := &ptyEditor{output: func() acpterm.TerminalOutputResponse {
		text, start := s.Text()
		return acpterm.TerminalOutputResponse{Output: text, Truncated: start > 0}
	}}
	for _, piece := range pieces {
		s.Write([]byte(piece))
		lines += p.add(piece)
		p.unfinished()
	}
	return lines, p.end()
}

func TestLinesOfAPTY(t *testing.T) {
	for _, test := range []struct {
		pieces     []string
		lines, end string
	}{
		{[]string{"one\r\ntwo\r\n", "three"}, "one\ntwo\n", "three\n"},
		{[]string{"a\r\nb\r\nc\r\nd\r\ne\r\nf\r\n"}, "a\nb\nc\nd\ne\nf\n", ""},
		{[]string{"10%\r20%\x1b[J\r100%\r\n"}, "100%\n", ""},
		{[]string{"a: 1\r\nb: 1\r\n", "\x1b[2A\x1b[Ka: 2\r\n\x1b[K", "b: 2\r\n", "end\r\n"}, "a: 1\nb: 1\n", "a: 2\nb: 2\nend\n"},
		{[]string{"a: 1\r\nb\r\n", "\x1b[2", "A\x1b[Ka: 2\r\n\r\n", "c\r\nd\r\n", "e\r\n"}, "a: 1\nb\n", "a: 2\nc\nd\ne\n"},
		{[]string{"one\r\n", "two\x1bMONE"}, "one\n", "oneONE\ntwo\n"},
		{[]string{"before\r\n", "\x1b[?1049h\x1b[Hfull screen", "\x1b[?1049l", "after\r\n"}, "before\n", "after\n"},
		{[]string{"\x1b[?2004hnot moved\r\n", "12345678901234567890x"}, "not moved\n", "12345678901234567890x\n"},
		{[]string{"日本\r\n\x1b[31mred\x1b]0;title\a\u202e\r\n", "\x1b[2J"}, "日本\nred" + `\u202e` + "\n", ""},
	} {
		lines, end := ptyOutput(test.pieces...)
		require.Equal(t, []string{test.lines, test.end}, []string{lines, end}, "%q", test.pieces)
	}
}

func TestPTYInAPipe(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-looks", "progress", "one\n10%\r20%\n"), "-pty", "-prompt", "x")
	c.exit(exitTurnEnded)
	require.Contains(t, c.stdout.String(), "\n[1] | one\n[1] | 20%\n")
	require.Contains(t, c.stdout.String(), "\n[1] = exited 0 in ")
}

// Whatever a command prints, its lines are harmless.
func FuzzPTY(f *testing.F) {
	f.Add("\x1b[31mab\r\x1b[Kc日\b\n\t\x1b[2D\x1b[?1049h\x1b[5;2r\x1b[3A\x1bM\x1bc\x1b[2J\x1b[3J\x1b(0\x1b[6n")
	f.Add("\u202e\n\x1b[A\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		half := len(text) / 2
		lines, end := ptyOutput(strings.ToValidUTF8(text[:half], "?"), strings.ToValidUTF8(text[half:], "?"))
		require.Equal(t, lines+end, harmless(lines+end, dropControls))
	})
}
