package main

// This file reads the user's answers.

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
)

// keyboard asks for one line at a time. It drops input from before a prompt, so that the line answers that prompt. Its
// methods must not be called concurrently.
type keyboard struct {
	in      io.Reader
	out     io.Writer
	discard func() error // drops unread input
	pending chan typed   // receives the line of a pending Read, or nil
	gone    error        // why no more lines can be read
}

// typed is a line without its line end, or an error.
type typed struct {
	line string
	err  error
}

// newKeyboard returns a keyboard that reads from in, a terminal except in tests.
func newKeyboard(in io.Reader, out io.Writer) *keyboard {
	k := &keyboard{in: in, out: out, discard: func() error { return nil }}
	if tty, ok := in.(*os.File); ok {
		k.discard = func() error { return discardInput(tty) }
	}
	return k
}

// prompt writes text and returns the next line that the user types, without surrounding blanks. If ctx is done first,
// the Read of the line continues.
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

// stale reports whether a Read is still pending after its prompt. Its line may be an answer to that prompt.
func (k *keyboard) stale() bool {
	select {
	case t := <-k.pending: // the user has finished that line
		k.pending, k.gone = nil, t.err
	default:
	}
	return k.pending != nil
}

// show writes the client's own lines, which begin with "? ".
func (k *keyboard) show(text string) {
	shown := rows{prefix: "? ", painted: "? ", width: width(k.out)}
	for line := range strings.Lines(text) {
		shown.column = 0
		shown.addLine(line)
	}
	k.out.Write(shown.to) // if this fails, the user does not answer
}

// readLine reads a line from a terminal, which returns one line per Read. It returns an empty line for a very long one.
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
