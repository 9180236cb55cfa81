package shell

// What callers use: Parse and the types of its result.

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one program that a line runs, or one builtin of the shell.
type Command struct {
	// Name is the command word as the shell has it after quote removal: "git" for \g\it. It is verbatim,
	// with any directory in front of it. It is empty for a piece of the line that runs nothing and only
	// assigns (Env) or redirects (Redirects).
	Name string
	// Args are the words after the name.
	Args []Arg
	// Env holds the assignments in front of the command and in front of what it was reached through, and
	// those that `env` makes or removes (-u), in this order.
	Env []Assignment
	// Sets are the variables that the builtin itself sets or removes: those that export, readonly, read,
	// getopts and unset name. The line's later commands see them.
	Sets []Assignment
	// Exports are the variables that the builtin export puts into the environment of later commands.
	Exports []string
	// Redirects are the files that this piece of the line opens. For a command that was reached through
	// another one they are at that other one.
	Redirects []Redirect
	// Via are the commands that it was reached through, outermost first: "sudo", "sh -c", "find -exec".
	// It is empty for a command that the line itself names.
	Via []string
	// Builtin says that the shell runs it without a program file, such as cd, echo or test. The builtins
	// that could run something else are refused. It is true as well where Name is empty.
	Builtin bool
	// Moved says that the line may have changed the directory before, by cd or by an option of a prefix:
	// relative paths in Args and Redirects are then not relative to where the line began.
	Moved bool
	// Login says that it is a login shell. It runs start-up files such as ~/.profile, which may change
	// PATH, and with it the programs that the names of its commands mean.
	Login bool
}

// Arg is one word of a line.
type Arg struct {
	// Text is the argument after quote removal if it is Literal, else the word as it is written. It is
	// empty for what a program such as xargs appends when it runs.
	Text string
	// Literal says that the program will get exactly Text. Otherwise the argument depends on variables,
	// on output, on files that match a pattern, or on the shell that reads it.
	Literal bool
	// One says that it is exactly one argument. An unquoted $x can vanish or become several. A Literal
	// argument is always One.
	One bool
}

// Assignment is a NAME=value, or the removal of a variable.
type Assignment struct {
	Name  string
	Value Arg
	// Unset says that the variable is removed. Value is then empty.
	Unset bool
}

// Redirect is a file that the shell opens for a command. Descriptors that are copied or closed (2>&1)
// and here-documents are no files and are left out.
type Redirect struct {
	// Op is ">", ">>", ">|", "<" or "<>".
	Op string
	// Path is the file. bash takes /dev/tcp/HOST/PORT as a connection.
	Path Arg
}

const (
	maxLine  = 64 << 10 // bytes of a line
	maxShell = 4        // shells within shells
	maxVia   = 12       // programs that run programs, one behind the other
	maxNest  = 100      // constructs within constructs
)

// Parse finds every program that a shell line runs, in the order of the line; what runs inside of a
// word, such as $(date), comes before the command that has the word. An error is an *Error and means
// that the line must not be run: there is something in it that cannot be seen completely.
//
// The result is the same for the same line. It depends on nothing but the line: not on the machine, not
// on the environment, not on files.
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

// scope is what a line inherits from where it stands.
type scope struct {
	dialect syntax.LangVariant
	depth   int // how many shells it is inside of
	via     []string
	env     []Assignment
	moved   bool // the directory is not the one that the outermost line began in
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

// syntaxError turns an error of the parser into one of this package.
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

// lineColumn returns where an offset is, from 1. The parser's own columns end at some length.
func lineColumn(src string, offset uint) (line, column uint) {
	head := src[:min(offset, uint(len(src)))]
	return uint(1 + strings.Count(head, "\n")), uint(len(head) - strings.LastIndexByte(head, '\n'))
}
