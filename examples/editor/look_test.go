package main

// The look of the screen, in windows of three sizes.

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/stretchr/testify/require"
)

const (
	left     = "\x1b[D"
	shiftTab = "\x1b[Z"
)

var sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

// row returns the number of the only line that contains text, or -1.
func row(shown, text string) int {
	if strings.Count(shown, text) != 1 {
		return -1
	}
	before, _, _ := strings.Cut(shown, text)
	return strings.Count(before, "\n")
}

// filled reports whether a line has a background from a column to the right edge. The caller holds mu.
func (t *terminal) filled(y, from int) bool {
	for x := from; x < t.emulator.Width(); x++ {
		style := t.emulator.CellAt(x, y).Style
		if style.Bg == nil && style.Attrs&uv.AttrReverse == 0 {
			return false
		}
	}
	return true
}

// awaitBar returns when the only line with text is a bar, and matches all of the parts.
func (t *terminal) awaitBar(text string, parts ...string) {
	t.Helper()
	from := 0
	if t.emulator.Width() >= wideWidth && text != "acpterm editor" {
		from = t.emulator.Width()*2/5 + 1
	}
	t.awaitThat(fmt.Sprint("a bar with ", text, parts), func(shown string) bool {
		y := row(shown, text)
		if y < 0 || !t.filled(y, from) {
			return false
		}
		line := strings.Split(shown, "\n")[y]
		for _, part := range parts {
			if !strings.Contains(line, part) {
				return false
			}
		}
		return true
	})
}

// awaitCursor returns when the cursor is visible and on the line, at the column.
func (t *terminal) awaitCursor(x, y int) {
	t.Helper()
	t.awaitThat(fmt.Sprint("the cursor at ", x, y), func(string) bool {
		return !t.emulator.CursorHidden() && t.emulator.CursorPosition() == uv.Pos(x, y)
	})
}

// resize changes the size of the window.
func (t *terminal) resize(width, height int) {
	t.mu.Lock()
	t.emulator.Resize(width, height)
	t.mu.Unlock()
	t.program.Send(tea.WindowSizeMsg{Width: width, Height: height})
}

func TestTheScreenInThreeSizes(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			term := runEditorIn(t, size[0], size[1], nil)
			promptCursor(term)
			term.press(executable(t) + " greet" + enter)
			term.await(`▸ reject once`)
			term.press(up + enter)
			term.awaitBar(" ✔ 1 ", "001", "finished, exit code 0 · ")
			term.await(`ready`)
			term.press("self: " + executable(t) + " tail" + enter)
			question(term)
			bothTailLines(term)
			for _, other := range append(sizes, size) {
				term.resize(other[0], other[1])
				wholeScreen(term)
			}
			term.resize(30, 14) // the state is more important than the command
			term.awaitBar(" ✔ 1 ", "finish")
			term.quit()
		})
	}
}

// promptCursor types into the prompt, and looks at the cursor.
func promptCursor(t *terminal) {
	y, width := t.emulator.Height()-2, t.emulator.Width()
	t.awaitCursor(2, y)
	t.press("日本語 text")
	t.awaitCursor(2+11, y)
	t.press(strings.Repeat(left, 6))
	t.awaitCursor(2+4, y)
	t.press(strings.Repeat("語", width) + "\x05" + strings.Repeat(left, 4)) // longer than the line; Ctrl-E
	t.awaitThat("the cursor on the t", func(string) bool {
		at := t.emulator.CursorPosition()
		return at.Y == y && at.X < width && at.X > width-8 && t.emulator.CellAt(at.X, y).Content == "t"
	})
	t.press("\x05\x15") // Ctrl-E, Ctrl-U
	t.awaitCursor(2, y)
}

// question awaits a question, looks at the screen, and allows the command.
func question(t *terminal) {
	t.await(`▸ reject once`)
	width, height := t.emulator.Width(), t.emulator.Height()
	t.awaitBar(" ✔ 1 ", "001", "finished, exit code 0 · ")
	shown := t.await(`hello`)
	lines := strings.Split(shown, "\n")
	top, bottom := row(shown, "╭─ The agent asks for permission ─"), row(shown, "╰─")
	require.Greater(t, top, row(shown, "hello"), shown)
	require.Equal(t, height-3, bottom, shown)
	for _, line := range lines[top : bottom+1] {
		require.Equal(t, width, ansi.StringWidth(line), shown)
	}
	t.awaitCursor(3, bottom-1)
	t.press(up)
	t.awaitCursor(3, bottom-2)
	t.press(enter)
	t.awaitThat("no box", func(shown string) bool { return !strings.ContainsAny(shown, "╭╰") })
	t.awaitCursor(2, height-2)
}

// bothTailLines looks at the second pane, which is not open, and at its duration.
func bothTailLines(t *terminal) {
	t.awaitBar(" ● 2 ", "the agent's own · ", "running · ")
	t.press(shiftTab)
	t.awaitThat("two lines", func(shown string) bool {
		y, from := row(shown, " ● 2 "), 0
		if t.emulator.Width() >= wideWidth {
			from = t.emulator.Width()*2/5 + 1
		}
		return y > 0 && t.emulator.CellAt(from+2, y+1).Content == "進" && t.emulator.CellAt(from+2, y+2).Content == "進"
	})
	t.await(`running · [1-9]\d*s`) // it goes on without output
}

// wholeScreen awaits each part of the screen once, at its place.
func wholeScreen(t *terminal) {
	height := t.emulator.Height()
	t.awaitBar("acpterm editor", "working, 1 running")
	t.awaitBar("≡ the agent's log")
	t.awaitBar(" ✔ 1 ", "finished, exit code 0 · ")
	t.awaitBar(" ● 2 ", "the agent's own · ", "running · ")
	t.awaitThat("the header above all, and the keys below", func(shown string) bool {
		return row(shown, "acpterm editor") == 0 && row(shown, "Enter send") == height-1
	})
	t.awaitCursor(2, height-2)
}

// Any value of NO_COLOR turns colours off.
func TestWithoutColours(t *testing.T) {
	t.Setenv("NO_COLOR", "yes")
	term := runEditor(t)
	term.press(executable(t) + " greet" + enter)
	term.await(`▸ reject once`)
	term.press(up + enter)
	term.awaitBar("acpterm editor", "ready")
	term.awaitBar(" ✔ 1 ", "finished") // the open one
	term.awaitThat("no colours", func(string) bool {
		for y := range 24 {
			for x := range 80 {
				style := term.emulator.CellAt(x, y).Style
				require.True(t, style.Fg == nil && style.Bg == nil, "%d %d", x, y)
			}
		}
		return true
	})
	term.quit()
}

func TestALightTerminal(t *testing.T) {
	term := runEditorIn(t, 80, 24, func(e *vt.Emulator) { e.SetDefaultBackgroundColor(color.White) })
	header := newStyles(false).header.GetForeground()
	term.awaitThat("colours for a light terminal", func(string) bool {
		shown := term.emulator.CellAt(0, 0).Style.Fg
		return shown != nil && luminance(shown) == luminance(header)
	})
	term.quit()
}

// erasing makes an emulator erase without a background, as some terminals do.
func erasing(e *vt.Emulator) {
	erase := func(from, to int) bool {
		for x := from; x < min(to, e.Width()); x++ {
			e.SetCell(x, e.CursorPosition().Y, &uv.Cell{Content: " ", Width: 1})
		}
		return true
	}
	e.RegisterCsiHandler('X', func(p ansi.Params) bool {
		n, _, _ := p.Param(0, 1)
		return erase(e.CursorPosition().X, e.CursorPosition().X+n)
	})
	e.RegisterCsiHandler('K', func(p ansi.Params) bool {
		n, _, _ := p.Param(0, 0)
		return n == 0 && erase(e.CursorPosition().X, e.Width())
	})
}

func TestBarsAreWholeWithoutErasingInColour(t *testing.T) {
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			term := runEditorIn(t, size[0], size[1], erasing)
			term.press(executable(t) + " greet" + enter)
			shown := term.await(`▸ reject once`)
			require.Contains(t, shown, "│ command    \"")
			require.NotContains(t, shown, "│ title ", "it is the command")
			term.press(up + enter)
			term.awaitBar("≡ the agent's log")
			term.awaitBar(" ✔ 1 ", "finished, exit code 0 · ")
			term.press(tab) // the log is open
			term.awaitBar("≡ the agent's log")
			term.awaitBar(" ✔ 1 ", "finished, exit code 0 · ")
			term.quit()
		})
	}
}

// luminance returns the relative luminance of WCAG.
func luminance(c color.Color) float64 {
	linear := func(v uint32) float64 {
		f := float64(v) / 0xffff
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	r, g, b, _ := c.RGBA()
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// All text has a contrast of 4.5 on the terminal's background and on bars.
func TestContrast(t *testing.T) {
	for _, dark := range []bool{true, false} {
		s, ground := newStyles(dark), lipgloss.LightDark(dark)(color.White, color.Black)
		bar := s.bar.GetBackground()
		for name, pair := range map[string][2]color.Color{
			"header": {s.header.GetForeground(), ground}, "bar": {s.bar.GetForeground(), bar},
			"quiet": {s.quiet.GetForeground(), bar}, "call": {s.call.GetForeground(), ground},
			"ask": {s.ask.GetForeground(), ground}, "own": {s.own.GetForeground(), bar},
			"running": {s.running.GetForeground(), bar}, "succeeded": {s.succeeded.GetForeground(), bar},
			"failed": {s.failed.GetForeground(), bar},
		} {
			high, low := luminance(pair[0]), luminance(pair[1])
			high, low = max(high, low), min(high, low)
			require.GreaterOrEqual(t, (high+0.05)/(low+0.05), 4.5, "%s, dark: %t", name, dark)
		}
	}
}

func TestBarsOfLongTextsAreWholeAndNotLonger(t *testing.T) {
	for _, width := range []int{20, 80, 120, 200} {
		for n := range 2 * width {
			require.Equal(t, width, ansi.StringWidth(fill(strings.Repeat("進", n), width)))
		}
	}
	for text, lines := range map[string][]string{
		"":                        {},
		"\n\n":                    {},
		"one\n\n \n":              {"one"},
		"one\ntwo\nthree":         {"two", "three"},
		"進進進a\n":                  {"進進", "進a"},
		"a\n 10%\r 99%\n":         {"a", " 99%"},
		strings.Repeat("é", 9999): {"ééééé", "ééé"},
	} {
		require.Equal(t, lines, append([]string{}, lastLines(text, 2, 5)...), "%.20q", text)
	}
}

func TestTabs(t *testing.T) {
	require.Equal(t, "FAIL    x\n        日      y       z", harmless("FAIL\tx\n\t日\ty\tz"))
}

func TestDurations(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"0.0s": 0, "9.9s": 9900 * time.Millisecond, "10s": 10 * time.Second, "1m05s": 65 * time.Second,
		"1h01m": 3661 * time.Second,
	} {
		require.Equal(t, text, duration(d, false))
	}
	require.Equal(t, "1s", duration(1900*time.Millisecond, true))
}
