package signin

// Connecting a Manager's terminal to the user's terminal.

import (
	"context"
	"errors"
	"io"

	"github.com/acpterm/acpterm"
)

// brokenError means that the user's terminal has failed.
type brokenError struct {
	what string
	err  error
}

func (e *brokenError) Error() string { return e.what + ": " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// join copies the program's output to the user's terminal until the program's terminal is released, and the user's
// input to the program until it exits. shown is closed after all output is written. join calls fail if the user's
// terminal fails.
func join(t *acpterm.Terminal, term io.ReadWriter, fail context.CancelCauseFunc) (shown <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for chunk := range t.Follow(context.Background(), 0) {
			if _, err := term.Write([]byte(chunk.Raw)); err != nil {
				fail(&brokenError{"the terminal cannot be written to", err})
				return
			}
		}
	}()
	go func() {
		if err := typeInto(t, term); err != nil {
			fail(&brokenError{"the terminal cannot be read", err})
		}
	}()
	return done
}

// endOfInput is the character that a user types to end the input.
const endOfInput = "\x04"

// typeInto writes input to the program's terminal, until the program or the input ends. It returns the error of a Read.
func typeInto(t *acpterm.Terminal, from io.Reader) error {
	buffer := make([]byte, 4<<10)
	defer clear(buffer) // it may hold a password
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := t.Write(buffer[:n]); err != nil {
				return nil // it has exited
			}
		}
		switch {
		case exited(t):
			return nil
		case errors.Is(err, io.EOF):
			t.Write([]byte(endOfInput))
			return nil
		case err != nil:
			return err
		}
	}
}

func exited(t *acpterm.Terminal) bool {
	select {
	case <-t.Done():
		return true
	default:
		return false
	}
}
