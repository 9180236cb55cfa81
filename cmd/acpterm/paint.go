package main

// This file decides whether to print colours, and chooses the client's own: one for each command, red for a failure.

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Palettes of commands. Each colour of palette256 has a contrast of at least 4:1 on white and on black. A terminal with
// fewer colours has its user's.
var (
	palette256 = []int{30, 162, 28, 130, 63, 97}
	palette8   = []string{"\x1b[36m", "\x1b[35m", "\x1b[32m", "\x1b[33m", "\x1b[34m"}
)

const failureColour = "\x1b[31m"

// wantColours reports whether to print colours to out. It does so if out is a terminal with colours and the user has not
// disabled them (https://no-color.org).
func wantColours(out *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(out) && enableColours(out)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// palette returns the colours of commands on the user's terminal.
func palette() []string {
	if !strings.Contains(os.Getenv("TERM"), "256color") && os.Getenv("COLORTERM") == "" {
		return palette8
	}
	var colours []string
	for _, n := range palette256 {
		colours = append(colours, "\x1b[38;5;"+strconv.Itoa(n)+"m")
	}
	return colours
}

// paint returns a prefix in the colour of its command.
func (s *screen) paint(prefix string) string {
	if !s.colours {
		return prefix
	}
	name, _, ok := strings.Cut(prefix, "]")
	if !ok || name[0] != '[' {
		return prefix
	}
	number, _ := strconv.Atoi(strings.TrimLeft(name, "[agent "))
	text := strings.TrimRight(prefix, " ")
	return s.palette[number%len(s.palette)] + text + noColours + prefix[len(text):]
}

// paintFailure returns text in the colour of failures.
func (s *screen) paintFailure(text string) string {
	if !s.colours {
		return text
	}
	return failureColour + text + noColours
}
