package main

// This file signs the user in. The user chooses one of the agent's methods, and the agent's program asks for the rest
// on the user's terminal, which it then has to itself.

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
	"sync"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/signin"
)

// mostSignIns limits the sign-ins. If the agent still requires one after that, the client gives up.
const mostSignIns = 2

// signInRequired is the error of an agent that requires a sign-in.
type signInRequired struct {
	methods []signin.Method
	err     error // the agent's
}

func (e *signInRequired) Error() string   { return e.err.Error() }
func (e *signInRequired) Unwrap() []error { return []error{e.err, errNotSignedIn} }

// hasTerminal reports whether the user has a terminal to sign in on.
func hasTerminal() bool {
	tty, err := openTerminal()
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// signIn lets the user sign in to an agent. Nothing else is printed until it returns. The flags for commands do not
// apply to the agent's program, because the user runs it, not the agent.
func signIn(ctx context.Context, opts options, required *signInRequired, screen *screen) error {
	methods := slices.DeleteFunc(slices.Clone(required.methods), func(m signin.Method) bool {
		return m.LegacyCommand != nil // may be any program
	})
	allowed := signin.Options{AllowVariables: opts.variables}
	refused := refusals(methods, &allowed)
	tty, err := openTerminal()
	switch {
	case err != nil:
		return fmt.Errorf(
			"%w. There is no terminal to sign in on: run this on one, or sign in with the agent's own program",
			required)
	case len(methods) == 0:
		tty.Close()
		return fmt.Errorf("%w. It offers no way that this client knows: sign in with the agent's own program", required)
	case len(refused) == len(methods):
		tty.Close()
		return fmt.Errorf("%w. Each way that it offers is refused: %s", required, strings.Join(refused, "; "))
	}
	defer tty.Close()
	reader, err := cancelreader.NewReader(tty)
	if err != nil {
		return fmt.Errorf("%w: %w", required, err)
	}
	defer reader.Close()
	keys := &keys{CancelReader: reader}
	defer keys.stop()
	defer context.AfterFunc(ctx, func() { reader.Cancel() })()
	screen.hold()
	defer screen.resume()
	asking := &keyboard{in: keys, out: tty, discard: func() error { return discardInput(tty) }}
	method, err := chooseMethod(ctx, asking, opts.agent, methods, &allowed)
	if err == nil {
		err = runMethod(ctx, opts.agent, method, keys, tty, allowed)
		asking.show("\n? The agent's program is over.\n") // the client's text begins on a new line
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: %w", required, err)
	}
	return nil
}

// runMethod runs the agent's program on the user's terminal.
func runMethod(
	ctx context.Context, agent []string, method signin.Method, keys *keys, tty *os.File,
	options signin.Options,
) error {
	restore, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return err
	}
	defer term.Restore(int(tty.Fd()), restore) // even after a panic
	defer keys.stop()                          // ends a pending Read
	columns, rows := size(tty)
	options.PTY = acpterm.PTYOptions{Columns: columns, Rows: rows, Term: os.Getenv("TERM")}
	options.Started = func(t *acpterm.Terminal) {
		resize := func() { t.Resize(size(tty)) }
		stop := onResize(resize)
		go func() {
			<-t.Done()
			stop()
		}()
		resize() // the size may have changed before
	}
	return signin.Run(ctx, exec.Command(agent[0], agent[1:]...), method, terminal{keys, tty}, &options)
}

// keys reads the user's input.
type keys struct {
	cancelreader.CancelReader
	reading sync.Mutex
}

func (k *keys) Read(p []byte) (int, error) {
	k.reading.Lock()
	defer k.reading.Unlock()
	return k.CancelReader.Read(p)
}

// stop ends a pending Read and prevents others, before the file is closed.
func (k *keys) stop() {
	if k.Cancel() {
		k.reading.Lock()
		defer k.reading.Unlock()
	}
}

// terminal is the user's input and output.
type terminal struct {
	io.Reader
	io.Writer
}

// size returns a terminal's size within acpterm's limits.
func size(tty *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(tty.Fd()))
	if err != nil {
		return 80, 24
	}
	return min(max(columns, 1), 1000), min(max(rows, 1), 1000)
}

// chooseMethod asks for one of the methods. An answer counts only after all arguments and variables have been shown.
func chooseMethod(
	ctx context.Context, asking *keyboard, agent []string, methods []signin.Method, allowed *signin.Options,
) (method signin.Method, err error) {
	text, choices, omitted := describeMethods(agent, methods, allowed, mostShown)
	for {
		question := "? Sign in? y yes, n no: "
		switch {
		case omitted:
			question = "? Sign in? f full text, n no: "
		case len(choices) > 1:
			question = fmt.Sprintf("? Sign in? 1 to %d, n no: ", len(choices))
		}
		line, err := asking.prompt(ctx, text+question)
		text = ""
		number, numberErr := strconv.Atoi(line)
		if len(choices) == 1 && (line == "y" || line == "yes") {
			number, numberErr = 1, nil
		}
		switch {
		case err != nil:
			return method, err
		case line == "n" || line == "no":
			return method, errors.New("you did not want to")
		case omitted && (line == "f" || line == "full"):
			text, choices, omitted = describeMethods(agent, methods, allowed, 0)
		case !omitted && numberErr == nil && number >= 1 && number <= len(choices):
			return choices[number-1], nil
		}
	}
}

// describeMethods lists the methods with their command lines and variables, and returns the allowed ones. The agent's
// words are quoted. It cuts a value longer than most bytes, and then omitted is true; a most of 0 means no limit.
func describeMethods(agent []string, methods []signin.Method, allowed *signin.Options, most int) (
	text string, choices []signin.Method, omitted bool,
) {
	var b strings.Builder
	b.WriteString("? The agent wants you to sign in first. It offers\n")
	line := func(what, text string) {
		shown := display.Visible(text, most)
		omitted = omitted || shown != text
		fmt.Fprintf(&b, "?      %-10s %s\n", what, shown)
	}
	for _, m := range methods {
		number := "-"
		refused := refusals([]signin.Method{m}, allowed)
		if refused == nil {
			choices = append(choices, m)
			number = strconv.Itoa(len(choices))
		}
		fmt.Fprintf(&b, "?   %s  %s: %s\n", number, quoteStart(m.Name), quoteStart(m.Description))
		line("runs", quoteAll(slices.Concat(agent, m.Args)))
		if len(m.Env) > 0 {
			var set []string
			for _, v := range m.Env {
				set = append(set, display.Quote(v.Name, 0)+"="+display.Quote(v.Value, 0))
			}
			line("variables", strings.Join(set, " "))
		}
		if refused != nil {
			line("refused", refused[0])
		}
	}
	return b.String(), choices, omitted
}

// refusals returns a reason for each method that sets refused variables.
func refusals(methods []signin.Method, allowed *signin.Options) (why []string) {
	for _, m := range methods {
		if names := m.RefusedVariables(allowed); names != nil {
			why = append(why, display.Visible("it sets what no -variable allows: "+quoteAll(names), mostShown))
		}
	}
	return why
}

func quoteAll(texts []string) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, display.Quote(text, 0))
	}
	return strings.Join(quoted, " ")
}
