package main

// This file shows one terminal to the user.

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// mostShown limits how many bytes of a command are shown, unless the user asks for all of it.
const mostShown = 1200

// shownTerminal prints one terminal.
type shownTerminal struct {
	*acpterm.Terminal
	screen *screen
	name   string // prefix of its lines
	began  time.Time

	// screen.printing guards these for writing, and for reading by other goroutines.
	command    string    // as last shown
	unprinted  bool      // only the command's row shows it so far
	unfinished string    // the line that the command has not ended, for its row
	waits      bool      // the command waits for input
	idle       time.Time // since when it is idle; zero if it is not
	links      []string  // as printed
}

// editor makes lines of the output of a command.
type editor interface {
	add(output string) (lines string)
	unfinished() string
	end() (lines string)
}

// follow prints a terminal's output as it arrives. It does not wait for it.
func (s *screen) follow(t *acpterm.Terminal) {
	shown := &shownTerminal{Terminal: t, screen: s, name: s.addName(t), began: time.Now()}
	shown.printCommand()
	s.begin(shown)
	s.following.Go(func() {
		ctx, stop := context.WithCancel(context.Background())
		s.following.Go(func() { shown.showActivity(ctx) })
		shown.printOutput()
		stop()
		shown.printCommand()
		text := shown.end() + "\n"
		if status := t.ExitStatus(); status == nil || !status.Success() {
			text = s.paintFailure(shown.end()) + "\n"
		}
		s.printEnd(shown, text)
	})
}

// printEnd prints how a command ended, and removes its row.
func (s *screen) printEnd(t *shownTerminal, text string) {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.running = slices.DeleteFunc(s.running, func(other *shownTerminal) bool { return other == t })
	if !s.wantRows() {
		s.hideRows()
	}
	t.printCommandLocked()
	s.printLocked(s.out, t.name+" = ", text)
}

// printCommand prints the command if it is known and not yet printed. An agent may report its command late, or more
// precisely later on.
func (t *shownTerminal) printCommand() {
	c := t.Command()
	if len(c.Args) > 0 {
		c.Args = append([]string{filepath.Base(c.Args[0])}, c.Args[1:]...) // paths are long; questions show them
	}
	command := display.Visible(c.String(), mostShown)
	if command == "" || command == t.command {
		return
	}
	t.screen.setCommand(t.ID(), c.String())
	t.screen.printing.Lock()
	defer t.screen.printing.Unlock()
	if t.command, t.unprinted = command, true; t.screen.terminal == nil {
		t.printCommandLocked()
	}
}

// printCommandLocked prints the command, unless it is printed. While a command with a row is silent, only the row shows
// it. The caller holds screen.printing.
func (t *shownTerminal) printCommandLocked() {
	if t.unprinted {
		t.unprinted = false
		t.screen.printLocked(t.screen.out, t.name+" $ ", t.command+"\n")
	}
}

// printOutput prints a terminal's output until it ends, and removes escape sequences.
func (t *shownTerminal) printOutput() {
	var editor editor = new(lineEditor)
	pty := &ptyEditor{output: t.Output}
	if t.HasPTY() && !t.Attached() {
		editor = pty
	}
	for chunk := range t.Follow(context.Background(), 0) {
		if t.Attached() {
			t.printCommand()
		}
		switch {
		case chunk.Replaced:
			t.print(editor.end(), "")
			t.printNote("output replaced\n")
		case chunk.Missed > 0 && editor == pty:
			pty.redrawn = true // the text at the end has more of it
		case chunk.Missed > 0:
			t.print(editor.end(), "")
			t.printNote(fmt.Sprintf("%d bytes came too fast to be shown\n", chunk.Missed))
		}
		lines := editor.add(chunk.Text)
		if t.screen.terminal == nil {
			t.print(lines, "")
		} else {
			t.print(lines, editor.unfinished())
		}
	}
	t.print(editor.end(), "")
}

// showActivity prints the addresses that the command listens on, and shows in its row that it waits for input
// or is idle.
func (t *shownTerminal) showActivity(ctx context.Context) {
	for a := range t.Watch(ctx) {
		lines := ""
		t.screen.printing.Lock()
		t.waits = a.State == "input"
		if a.State != "idle" {
			t.idle = time.Time{}
		} else if t.idle.IsZero() {
			t.idle = time.Now()
		}
		for _, link := range display.Links(a.Listening, t.Info().Remote) {
			if !slices.Contains(t.links, link) {
				t.links = append(t.links, link)
				lines += "listens on " + link + "\n"
			}
		}
		t.screen.printLocked(t.screen.out, t.name+" ! ", lines)
		t.screen.printing.Unlock()
	}
}

// print prints lines of output, and shows the unfinished line in the command's row.
func (t *shownTerminal) print(lines, unfinished string) {
	t.screen.printing.Lock()
	defer t.screen.printing.Unlock()
	t.unfinished = unfinished
	if lines != "" {
		t.printCommandLocked()
	}
	t.screen.printLocked(t.screen.out, t.name+" | ", lines)
}

// printNote prints a note about the output.
func (t *shownTerminal) printNote(text string) {
	t.screen.printing.Lock()
	defer t.screen.printing.Unlock()
	t.printCommandLocked()
	t.screen.printLocked(t.screen.out, t.name+" ! ", text)
}

// end describes how the command ended, and how long it ran.
func (t *shownTerminal) end() string {
	status, err := t.Wait(context.Background())
	switch {
	case err != nil && t.Attached():
		return "not ended, as far as the agent has said"
	case err != nil:
		return err.Error()
	}
	text, joint := status.String(), " after "
	if code, ok := strings.CutPrefix(text, "exit code "); ok {
		text, joint = "exited "+code, " in "
	}
	info := t.Info()
	passed := info.Ended.Sub(info.Started)
	if t.Attached() {
		passed = info.Ended.Sub(info.Created)
	}
	if !t.Attached() || passed >= leastReported {
		text += joint + inWords(passed)
	}
	switch t.EndedBy() {
	case acpterm.EndedByIdle:
		text += ", was idle for too long"
	case acpterm.EndedByTimeout:
		text += ", timed out"
	case acpterm.EndedByUser:
		text += ", stopped on the page"
	}
	return text
}

// leastReported is the least duration shown of a command that the agent runs. An agent may report the beginning and the
// end of a command together.
const leastReported = 100 * time.Millisecond

// inWords returns a duration for a user: "12 ms", "1.2 s", "3 min 20 s" or "2 h 5 min".
func inWords(d time.Duration) string {
	switch {
	case d < time.Second && d%time.Second != 0:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < time.Minute && d%time.Second == 0:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
