package main

// This file decides whether to print the colours of commands.

import (
	"io"
	"os"

	"golang.org/x/term"
)

// The values of -color.
const (
	colourAuto   = "auto"
	colourAlways = "always"
	colourNever  = "never"
)

// wantColours reports whether to print colours to out. In automatic mode, it does so if out is a terminal with colours
// and the user has not disabled them (https://no-color.org).
func wantColours(mode string, out *os.File) bool {
	switch mode {
	case colourAlways:
		enableColours(out)
		return true
	case colourNever:
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(out) && enableColours(out)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
