package shell

// parse, and the types of its result and of its errors.

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A command is a program or a builtin that a line runs.
type command struct {
	Name string // after quote removal, with its directory; empty if there are only assignments or redirections
	Args []arg
	// Env are the assignments in front of this command and of the commands in Via, in the order of their effect,
	// together with the variables that `env` sets or removes (-u).
	Env       []assignment
	Sets      []assignment // set or removed for later commands by a builtin (export, read, unset ...)
	Exports   []string     // added to the environment of later commands by export
	Redirects []redirect   // `sudo rm > f` opens f for sudo rather than for rm
	Via       []string     // the commands that run this one, outermost first, such as "sudo", "sh -c" or "find -exec"
	Builtin   bool         // the shell itself runs it; true without a Name
	Moved     bool         // an earlier cd or an option of a prefix may have changed the directory
	Login     bool         // a login shell, whose start-up files may change its PATH
}

// An arg is a word in a line.
type arg struct {
	Text    string // after quote removal or, if not Literal, the word's source; empty for what xargs appends
	Literal bool   // the program receives exactly Text
	One     bool   // always one argument, unlike an unquoted $x, which may be any number of them
}

// An assignment sets a variable, as in NAME=value, or removes it.
type assignment struct {
	Name  string
	Value arg
	Unset bool // removed, without a Value
}

// A redirect is a file that the shell opens for a command: no here-document, and no descriptor, as in 2>&1.
type redirect struct {
	Op   string // ">", ">>", ">|", "<" or "<>"
	Path arg    // bash takes /dev/tcp/HOST/PORT for a connection
}

const (
	maxLine  = 64 << 10 // bytes of a line
	maxShell = 4        // shells within shells
	maxVia   = 12       // nested programs that run programs
	maxNest  = 100      // constructs within constructs
)

// parse returns every program that a line runs, in order of appearance. A program inside a word, such as $(date), comes
// before the command of the word. The result depends on nothing but the line. Every error is a *refusal.
func parse(line string) ([]command, error) {
	if err := checkBytes(line); err != nil {
		return nil, err
	}
	posix, err := readLine(line, scope{dialect: syntax.LangPOSIX})
	if err != nil {
		return nil, err
	}
	bash, err := readLine(line, scope{dialect: syntax.LangBash})
	if err != nil {
		return nil, err
	}
	commands, ok := merge(posix, bash)
	if !ok {
		return nil, &refusal{
			Kind: errNotPortable, Reason: "dash and bash would run different commands", Line: 1, Column: 1, Text: line,
		}
	}
	return commands, nil
}

// scope is the context of a line or of the text of a `sh -c`.
type scope struct {
	dialect syntax.LangVariant
	depth   int // of nested shells
	via     []string
	env     []assignment
	moved   bool // the directory may differ from the outermost line's
}

// readLine finds the commands of a line, or of the text of a `sh -c`, as one dialect reads it.
func readLine(line string, in scope) ([]command, *refusal) {
	if in.depth > maxShell {
		return nil, &refusal{Kind: errTooLarge, Reason: "too many shells within shells", Line: 1, Column: 1, Text: line}
	}
	parser := syntax.NewParser(syntax.Variant(in.dialect), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, syntaxError(line, err)
	}
	w := &walker{scope: in, src: line}
	if err := w.checkText(file); err != nil {
		return nil, err
	}
	if err := w.stmts(file.Stmts); err != nil {
		return nil, err
	}
	return w.commands, nil
}

// syntaxError converts an error of the parser to one of this package.
func syntaxError(line string, err error) *refusal {
	refused := &refusal{Kind: errSyntax, Reason: err.Error(), Line: 1, Column: 1, Text: line}
	switch e := err.(type) {
	case syntax.ParseError:
		refused.Reason = e.Text
		refused.Line, refused.Column = lineColumn(line, e.Pos.Offset())
	case syntax.LangError:
		refused.Kind, refused.Reason = errNotPortable, e.Feature+" is not POSIX shell"
		refused.Line, refused.Column = lineColumn(line, e.Pos.Offset())
	}
	return refused
}

// lineColumn returns the position of an offset, counted from 1. The parser's own columns have a maximum.
func lineColumn(src string, offset uint) (line, column uint) {
	head := src[:min(offset, uint(len(src)))]
	return uint(1 + strings.Count(head, "\n")), uint(len(head) - strings.LastIndexByte(head, '\n'))
}

// A kind tells why a line is refused. A message shows it with spaces instead of underscores.
type kind string

const (
	errSyntax         kind = "syntax"
	errNotPortable    kind = "not_portable"      // dash and bash read it differently, or only one of them has it
	errUnknownCommand kind = "unknown_command"   // a name only known when the line runs
	errHidden         kind = "hidden"            // runs text from outside of the line, or too hard to analyse
	errOption         kind = "option"            // an unknown option of a prefix program
	errBuiltin        kind = "builtin"           // arguments that run text, or change how lines and names are read
	errVariable       kind = "variable"          // changes how the shell reads lines or looks up names
	errFunction       kind = "function"          // may have the name of any program
	errDirectory      kind = "directory_changed" // ./x after a cd
	errCharacter      kind = "character"         // control characters and invalid UTF-8, which shells treat differently
	errTooLarge       kind = "too_large"         // too long, or nested too deeply
)

// A refusal is the error of a line that must not be run.
type refusal struct {
	Kind   kind
	Reason string
	// Line and Column are where the refused text starts, counted from 1 and in bytes. Within the TEXT of `sh -c TEXT`,
	// they are where TEXT starts.
	Line, Column uint
	Text         string // the refused text, as the agent wrote it
}

// shownText is the maximum number of characters of Text in a message.
const shownText = 60

func (e *refusal) Error() string {
	shown := []rune(e.Text)
	tail := ""
	if len(shown) > shownText {
		shown, tail = shown[:shownText], "..."
	}
	kind := strings.ReplaceAll(string(e.Kind), "_", " ")
	return fmt.Sprintf("shell: %d:%d: %s: %s: %q%s", e.Line, e.Column, kind, e.Reason, string(shown), tail)
}
