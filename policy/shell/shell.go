package shell

// Parse and the types of its result.

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Command is a program or shell builtin run by a line.
type Command struct {
	// Name is the command word after quote removal, such as "git" for \g\it, including any directory. It is empty if
	// this part of the line consists only of assignments (Env) or redirections (Redirects).
	Name string
	// Args holds the words following the name.
	Args []Arg
	// Env lists the assignments in front of this command and of the commands in Via, along with the variables that
	// `env` sets or removes (-u), in the order they take effect.
	Env []Assignment
	// Sets lists the variables that this builtin (export, readonly, read, getopts or unset) sets or removes. The change
	// is visible to later commands in the line.
	Sets []Assignment
	// Exports lists the variables that the export builtin adds to the environment of later commands.
	Exports []string
	// Redirects lists the files opened for this part of the line. In `sudo rm > f`, f belongs to sudo, not to rm.
	Redirects []Redirect
	// Via lists the commands that lead to this one, outermost first, such as "sudo", "sh -c" or "find -exec". It is
	// empty if the line runs the command directly.
	Via []string
	// Builtin reports whether the shell runs the command itself, without a program file, as it does for cd, echo and
	// test. It is also true if Name is empty. Builtins that could run a program are rejected by Parse.
	Builtin bool
	// Moved reports whether the line may have changed the working directory before this command, by cd or an option of
	// a prefix. If so, relative paths in Args and Redirects are not relative to the line's directory.
	Moved bool
	// Login reports whether the command is a login shell. Login shells run start-up files such as ~/.profile, which may
	// change PATH and therefore the programs that the shell runs.
	Login bool
}

// An Arg is a word in a line.
type Arg struct {
	// Text is the argument after quote removal if Literal is true, and the word's source text otherwise. It is empty
	// for arguments appended at run time, such as those added by xargs.
	Text string
	// Literal reports whether the program receives Text verbatim. Otherwise, the argument depends on variables, output,
	// the files matching a pattern, or the shell.
	Literal bool
	// One reports whether the word always becomes exactly one argument. An unquoted $x, for example, can become none or
	// several. One is always true if Literal is.
	One bool
}

// An Assignment sets a variable, as in NAME=value, or removes it.
type Assignment struct {
	Name  string
	Value Arg
	// Unset reports whether the variable is removed, in which case Value is empty.
	Unset bool
}

// A Redirect is a file that the shell opens for a command. Duplicated and closed descriptors (2>&1) and here-documents
// are not included.
type Redirect struct {
	// Op is ">", ">>", ">|", "<" or "<>".
	Op string
	// Path is the file's path. Note that bash opens a connection for /dev/tcp/HOST/PORT instead.
	Path Arg
}

const (
	maxLine  = 64 << 10 // bytes of a line
	maxShell = 4        // shells within shells
	maxVia   = 12       // nested programs that run programs
	maxNest  = 100      // constructs within constructs
)

// Parse returns every program run by a shell line, in order of appearance. A program inside a word, such as $(date),
// comes before the command containing the word. All errors are of type *Error. If Parse returns one, it could not
// analyse the line completely, so the line must not be run.
//
// The result depends only on the line, not on the machine, the environment or any files.
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
