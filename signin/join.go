package signin

// A terminal of a Manager joined to the person's.

import (
	"context"
	"errors"
	"io"

	"github.com/acpterm/acpterm"
)

// brokenError is why the person's terminal cannot be used any more.
type brokenError struct {
	what string
	err  error
}

func (e *brokenError) Error() string { return e.what + ": " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// join passes on what the program writes, until its terminal is released, and what the person types, until the program
// exits. shown is closed when all that the program wrote has been written. fail is called when the person's terminal
// fails.
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

// endOfInput is what a person types where the input ends.
const endOfInput = "\x04"

// typeInto types what is read into the program's terminal, until that or the input ends. It fails when a Read does.
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
