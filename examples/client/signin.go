package main

// Signing in: the person chooses one of the ways that the agent offers, and the agent's program asks for the rest, on
// the person's terminal, which is then the program's alone.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/signin"
)

// mostSignIns is how often the person signs in before the client takes the agent's word for it that it is of no use.
const mostSignIns = 2

// signInRequired is the error of an agent that requires a sign-in first.
type signInRequired struct {
	methods []signin.Method
	err     error // the agent's
}

func (e *signInRequired) Error() string   { return e.err.Error() }
func (e *signInRequired) Unwrap() []error { return []error{e.err, errNotSignedIn} }

// hasTerminal reports whether there is a person's terminal to sign in on.
func hasTerminal() bool {
	tty, err := openTerminal()
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// signIn has the person sign in to an agent. Nothing else is printed until it returns. The agent's program runs by
// itself, with none of what the flags say of commands: it is the person's to run, not the agent's.
func signIn(ctx context.Context, agent []string, required *signInRequired, screen *screen) error {
	methods := slices.DeleteFunc(slices.Clone(required.methods), func(m signin.Method) bool {
		return m.LegacyCommand != nil // may be any program
	})
	tty, err := openTerminal()
	switch {
	case err != nil:
		return fmt.Errorf(
			"%w. There is no terminal to sign in on: run this on one, or sign in with the agent's own program",
			required)
	case len(methods) == 0:
		tty.Close()
		return fmt.Errorf("%w. It offers no way that this client knows: sign in with the agent's own program", required)
	}
	defer tty.Close()
	keys, err := cancelreader.NewReader(tty)
	if err != nil {
		return fmt.Errorf("%w: %w", required, err)
	}
	defer keys.Close()
	defer context.AfterFunc(ctx, func() { keys.Cancel() })()
	screen.hold()
	defer screen.resume()
	method, err := chooseMethod(keys, tty, agent, methods)
	if err == nil {
		err = runMethod(ctx, agent, method, keys, tty)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", required, err)
	}
	return nil
}

// runMethod runs the agent's program on the person's terminal.
func runMethod(
	ctx context.Context, agent []string, method signin.Method, keys cancelreader.CancelReader, tty *os.File,
) error {
	restore, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return err
	}
	defer term.Restore(int(tty.Fd()), restore) // also when something panics
	defer keys.Cancel()                        // the Read that is pending
	columns, rows := size(tty)
	return signin.Run(ctx, exec.Command(agent[0], agent[1:]...), method, terminal{keys, tty}, &signin.Options{
		PTY: acpterm.PTYOptions{Columns: columns, Rows: rows, Term: os.Getenv("TERM")},
		Started: func(t *acpterm.Terminal) {
			resize := func() { t.Resize(size(tty)) }
			stop := onResize(resize)
			go func() {
				<-t.Done()
				stop()
			}()
			resize() // it may have changed before
		},
	})
}

// terminal reads from the person and writes to the person.
type terminal struct {
	io.Reader
	io.Writer
}

// size is a terminal's size as acpterm takes it.
func size(tty *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(tty.Fd()))
	if err != nil {
		return 80, 24
	}
	return min(max(columns, 1), 1000), min(max(rows, 1), 1000)
}

// chooseMethod asks by which method the person wants to sign in. What the agent has written is made visible.
func chooseMethod(
	in io.Reader, out io.Writer, agent []string, methods []signin.Method,
) (method signin.Method, err error) {
	fmt.Fprintln(out, "? The agent wants you to sign in first. It offers")
	for i, m := range methods {
		name := shorten(m.Name + ": " + m.Description)
		run := acpterm.Command{Args: slices.Concat(agent, m.Args)}.String()
		fmt.Fprintf(out, "?   %d  %s\n?      runs %s\n", i+1, name, display.Quote(run, mostShown/6))
	}
	question := "? Sign in? y yes, n no: "
	if len(methods) > 1 {
		question = fmt.Sprintf("? Sign in? 1 to %d, n no: ", len(methods))
	}
	for {
		io.WriteString(out, question)
		line, err := readLine(in)
		number, numberErr := strconv.Atoi(line)
		switch {
		case err != nil:
			return method, err
		case line == "n" || line == "no":
			return method, errors.New("you did not want to")
		case len(methods) == 1 && (line == "y" || line == "yes"):
			return methods[0], nil
		case numberErr == nil && number >= 1 && number <= len(methods):
			return methods[number-1], nil
		}
	}
}

// readLine reads a line of a terminal, which gives one at a time.
func readLine(in io.Reader) (string, error) {
	var line strings.Builder
	for buffer := make([]byte, 1<<10); ; {
		n, err := in.Read(buffer)
		line.Write(buffer[:n])
		switch {
		case strings.HasSuffix(line.String(), "\n"):
			return strings.TrimSpace(line.String()), nil
		case err != nil:
			return "", err
		case line.Len() > len(buffer):
			return "", errors.New("the line is too long")
		}
	}
}
