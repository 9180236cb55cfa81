package main

// Lines that the user types as answers.

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
)

// keyboard asks for one line at a time. It drops input from before the text of a prompt, so that the line answers that
// text. Its methods must not be called concurrently.
type keyboard struct {
	in      io.Reader
	out     io.Writer
	discard func() error // drops unread input
	pending chan typed   // gets the line of a pending Read; nil without one
	gone    error        // why no line can be read any more
}

// typed is a line without its end, or an error.
type typed struct {
	line string
	err  error
}

// newKeyboard returns a keyboard of a terminal, or of something else in tests.
func newKeyboard(in io.Reader, out io.Writer) *keyboard {
	k := &keyboard{in: in, out: out, discard: func() error { return nil }}
	if tty, ok := in.(*os.File); ok {
		k.discard = func() error { return discardInput(tty) }
	}
	return k
}

// prompt writes a text and returns the next line that the user types, without the blanks around it. When ctx ends
// first, the Read of the line goes on.
func (k *keyboard) prompt(ctx context.Context, text string) (string, error) {
	if k.gone == nil {
		k.gone = k.discard()
	}
	if k.gone != nil {
		return "", k.gone
	}
	k.show(text)
	if k.pending == nil {
		k.pending = make(chan typed, 1)
		go func(to chan<- typed) { to <- readLine(k.in) }(k.pending)
	}
	select {
	case t := <-k.pending:
		k.pending, k.gone = nil, t.err
		return t.line, t.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// stale reports whether a Read goes on after the end of its prompt: its line may be an answer to that.
func (k *keyboard) stale() bool {
	select {
	case t := <-k.pending: // the user has ended that line
		k.pending, k.gone = nil, t.err
	default:
	}
	return k.pending != nil
}

// show writes lines of the client's own, which begin with "? ".
func (k *keyboard) show(text string) {
	var rows []byte
	for line := range strings.Lines(text) {
		rows, _ = appendRows(rows, "? ", line, 0, width(k.out))
	}
	k.out.Write(rows) // a user who cannot be asked does not answer
}

// readLine reads a line of a terminal, which gives one at a time. It returns an empty line for a very long one.
func readLine(in io.Reader) typed {
	var line strings.Builder
	for buffer := make([]byte, 1<<10); ; {
		n, err := in.Read(buffer)
		if line.Len() <= len(buffer) {
			line.Write(buffer[:n])
		}
		switch {
		case n > 0 && buffer[n-1] == '\n' && line.Len() > len(buffer):
			return typed{}
		case n > 0 && buffer[n-1] == '\n':
			return typed{line: strings.TrimSpace(line.String())}
		case err != nil:
			return typed{err: err}
		case n == 0:
			return typed{err: errors.New("the terminal gives nothing")}
		}
	}
}
