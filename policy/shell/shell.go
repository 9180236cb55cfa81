package shell

// Parse and the types of its result.

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one program that a line runs, or one builtin of the shell.
type Command struct {
	// Name is the command word after quote removal: "git" for \g\it. It includes any directory. It is empty for a piece
	// of the line that only assigns (Env) or redirects (Redirects).
	Name string
	// Args holds the words after the name.
	Args []Arg
	// Env contains, in this order, the assignments in front of the command and of the commands in Via, and those that
	// `env` makes or removes (-u).
	Env []Assignment
	// Sets lists the variables that the builtin itself sets or removes: those named by export, readonly, read, getopts
	// and unset. The line's later commands see them.
	Sets []Assignment
	// Exports lists the variables that the builtin export puts into the environment of later commands.
	Exports []string
	// Redirects lists the files that this piece of the line opens. Those of `sudo rm > f` belong to sudo, not to rm.
	Redirects []Redirect
	// Via lists the commands that run this one, outermost first: "sudo", "sh -c", "find -exec". It is empty if the line
	// itself names the command.
	Via []string
	// Builtin means that the shell runs the command without a program file, such as cd, echo or test. Builtins that
	// could run a program are refused. Builtin is also true if Name is empty.
	Builtin bool
	// Moved means that the line may have changed the directory before, with cd or an option of a prefix. Relative paths
	// in Args and Redirects are then not relative to the line's directory.
	Moved bool
	// Login means that the command is a login shell. It runs start-up files such as ~/.profile, which may change PATH
	// and therefore the programs that it runs.
	Login bool
}

// Arg is one word of a line.
type Arg struct {
	// Text is the argument after quote removal if it is Literal, or else the source text of the word. It is empty for
	// arguments that a program such as xargs appends when it runs.
	Text string
	// Literal means that the program receives exactly Text. Otherwise the argument depends on variables, on output, on
	// files that match a pattern, or on the shell.
	Literal bool
	// One means that the word is exactly one argument. An unquoted $x can be none or several. A Literal argument is
	// always One.
	One bool
}

// Assignment is a NAME=value, or the removal of a variable.
type Assignment struct {
	Name  string
	Value Arg
	// Unset means that the variable is removed. Value is then empty.
	Unset bool
}

// Redirect is a file that the shell opens for a command. It does not include copied and closed descriptors (2>&1) and
// here-documents.
type Redirect struct {
	// Op is ">", ">>", ">|", "<" or "<>".
	Op string
	// Path is the file. For /dev/tcp/HOST/PORT, bash opens a connection.
	Path Arg
}

const (
	maxLine  = 64 << 10 // bytes of a line
	maxShell = 4        // shells within shells
	maxVia   = 12       // nested programs that run programs
	maxNest  = 100      // constructs within constructs
)

// Parse finds every program that a shell line runs, in the order of the line. A program inside a word, such as $(date),
// precedes the command of the word. The error is an *Error. It means that the line must not be run, because Parse
// cannot analyse it completely.
//
// The result depends only on the line, not on the machine, the environment or files.
func Parse(line string) ([]Command, error) {
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
		return nil, &Error{
			Kind: ErrNotPortable, Reason: "dash and bash would run different commands", Line: 1, Column: 1, Text: line,
		}
	}
	return commands, nil
}

// scope is the context of a line or of the text of a `sh -c`.
type scope struct {
	dialect syntax.LangVariant
	depth   int // of nested shells
	via     []string
	env     []Assignment
	moved   bool // the directory may differ from the outermost line's
}

// readLine finds the commands of a line, or of the text of a `sh -c`, as one dialect reads it.
func readLine(line string, in scope) ([]Command, *Error) {
	if in.depth > maxShell {
		return nil, &Error{Kind: ErrTooLarge, Reason: "too many shells within shells", Line: 1, Column: 1, Text: line}
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
func syntaxError(line string, err error) *Error {
	refused := &Error{Kind: ErrSyntax, Reason: err.Error(), Line: 1, Column: 1, Text: line}
	switch e := err.(type) {
	case syntax.ParseError:
		refused.Reason = e.Text
		refused.Line, refused.Column = lineColumn(line, e.Pos.Offset())
	case syntax.LangError:
		refused.Kind, refused.Reason = ErrNotPortable, e.Feature+" is not POSIX shell"
		refused.Line, refused.Column = lineColumn(line, e.Pos.Offset())
	}
	return refused
}

// lineColumn returns the position of an offset, counted from 1. The parser's own columns have a maximum.
func lineColumn(src string, offset uint) (line, column uint) {
	head := src[:min(offset, uint(len(src)))]
	return uint(1 + strings.Count(head, "\n")), uint(len(head) - strings.LastIndexByte(head, '\n'))
}
