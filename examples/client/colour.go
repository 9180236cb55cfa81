package main

// Whether the colours of commands are printed.

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

// wantColours reports whether colours are printed to out: automatically if that is a terminal which can show them, and
// the person does not object (https://no-color.org).
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
