package mcpserver

// Errors as results of tools: what went wrong, and the next step for the model.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

// maxErrorText bounds the text of an error, which may quote arguments.
const maxErrorText = 2 << 10

// advised is an error with the model's next step.
type advised struct{ error }

func (e advised) Unwrap() error { return e.error }
func (e advised) Error() string {
	return shorten(e.error.Error(), maxErrorText) + "\n" + nextStep(e.error)
}

// explained is the error of a denied command, followed by Options.Denied.
type explained struct {
	error
	text string
}

func (e explained) Unwrap() error { return e.error }
func (e explained) Error() string { return e.error.Error() + "\n" + e.text }

// explain adds Options.Denied to a denial.
func (c *session) explain(err error) error {
	if c.options.Denied == "" || !errors.Is(err, acpterm.ErrDenied) {
		return err
	}
	return explained{err, c.options.Denied}
}

// naming returns the error of a call of run with the value of the argument that is to blame.
func naming(err error, in runInput) error {
	e, ok := err.(*acpterm.Error)
	if !ok {
		return err
	}
	named := *e
	var variable int
	if e.Field == "cwd" {
		named.Field = fmt.Sprintf("cwd %q", in.Cwd)
	} else if e.Field == "command" {
		named.Field = fmt.Sprintf("command %q", shorten(in.Command, maxLabel))
	} else if n, _ := fmt.Sscanf(e.Field, "env[%d]", &variable); n == 1 && 0 <= variable && variable < len(in.Env) {
		named.Field = fmt.Sprintf("env %q", slices.Sorted(maps.Keys(in.Env))[variable])
	}
	return &named
}

// advice returns err with the model's next step, or nil.
func advice(err error) error {
	if err == nil {
		return nil
	}
	return advised{err}
}

func nextStep(err error) string {
	e, _ := errors.AsType[*acpterm.Error](err)
	switch {
	case errors.Is(err, acpterm.ErrDenied):
		return "Do not try to run the same thing in another way. Choose a command that is allowed, or tell the user " +
			"which command you need and why."
	case errors.Is(err, acpterm.ErrTerminalNotFound):
		return "Call list to see the ids of this session's commands."
	case errors.Is(err, acpterm.ErrCommandNotFound):
		return "Check the name of the program, or pass a path. For a shell line, leave out args."
	case errors.Is(err, acpterm.ErrNotExecutable):
		return "If it is a script, pass it to its interpreter, as in \"sh FILE\", or make it executable with chmod +x. " +
			"If it is a directory, pass the path of a program in it."
	case errors.Is(err, acpterm.ErrQuota) && e != nil && (e.Quota == "terminals" || e.Quota == "session_terminals" ||
		e.Quota == "reserved_bytes"):
		return "Release the commands that you no longer need: call release with the id \"ended\" for all that have " +
			"ended and for what they left running, or see list. Then try again."
	case errors.Is(err, acpterm.ErrQuota):
		return "Wait a moment, and try again."
	case errors.Is(err, acpterm.ErrInvalidParams) && e != nil && strings.HasPrefix(e.Field, "cwd"):
		return "Pass an existing directory as cwd, or leave it out."
	case e != nil && e.Field == "CommandOptions.PTY":
		return "Run it without pty, which there is not where commands run."
	case e != nil && e.Field == "CommandOptions.Stdin":
		return "Run it without stdin, which there is not where commands run, or with pty."
	case errors.Is(err, acpterm.ErrInvalidParams):
		return "Correct the arguments, and try again."
	case errors.Is(err, acpterm.ErrSurvivors):
		return "Tell the user that processes are, or may be, still running. Calling kill again may help."
	case errors.Is(err, acpterm.ErrConnectionLost):
		return "The command may still be running on the other machine. Run it again if that is safe."
	case errors.Is(err, acpterm.ErrCancelled), errors.Is(err, acpterm.ErrClosing),
		errors.Is(err, acpterm.ErrSessionNotFound):
		return "Nothing more can be done in this session if it is ending. Otherwise, try again."
	case errors.Is(err, acpterm.ErrExitLost):
		return "Its output can still be read."
	}
	return "Tell the user about this error if it happens again."
}

func textOf(r *mcp.CallToolResult) (all string) {
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			all += c.Text
		}
	}
	return all
}
