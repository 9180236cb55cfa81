package shell

// Parse and the types of its result.

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Command is a program or shell builtin run by a line.
type Command struct {
	// Name is the name of the command after quote removal, including the directory, if any. For example, the name of
	// the command \g\it is "git". If a command consists only of assignments (Env) or redirections (Redirects), Name is
	// empty.
	Name string
	// Args holds the words that follow the name.
	Args []Arg
	// Env lists the variables assigned before the name of this command and before the commands in Via, in the order in
	// which they take effect. It includes any variables that `env` sets or removes (-u).
	Env []Assignment
	// Sets lists the variables that a builtin (export, readonly, read, getopts or unset) sets or removes for subsequent
	// commands in the line.
	Sets []Assignment
	// Exports lists the variables that the export builtin adds to the environment of subsequent commands.
	Exports []string
	// Redirects lists the files opened for this command. For example, `sudo rm > f` opens f for sudo rather than for
	// rm.
	Redirects []Redirect
	// Via lists the commands that run this one, from outermost to innermost, for example "sudo", "sh -c" or "find
	// -exec". If the line runs the command directly, Via is empty.
	Via []string
	// Builtin reports whether the shell itself implements the command, as it does for cd, echo and test. A command
	// without a Name is also considered a builtin. Parse rejects any builtin that could run another program.
	Builtin bool
	// Moved reports whether the working directory may have been changed by an earlier cd or by an option of a prefix.
	// If so, relative paths in Args and Redirects may not be relative to the line's directory.
	Moved bool
	// Login reports whether the command is a login shell. If so, start-up files such as ~/.profile may change its PATH,
	// and thus the programs that it runs.
	Login bool
}

// An Arg is a word in a line.
type Arg struct {
	// Text is the argument after quote removal or, if Literal is false, the source text of the word. If the argument is
	// appended at run time, for example by xargs, Text is empty.
	Text string
	// Literal reports whether the program receives exactly Text as its argument. If not, the argument depends on
	// variables, command output, files that match a pattern, or the shell itself.
	Literal bool
	// One reports whether the word always expands to exactly one argument. This is true of any literal word, but not,
	// for example, of an unquoted $x, which may expand to any number of arguments.
	One bool
}

// An Assignment sets a variable, as in NAME=value, or removes it.
type Assignment struct {
	Name  string
	Value Arg
	// Unset reports whether the variable is removed rather than set. If Unset is true, Value is empty.
	Unset bool
}

// A Redirect is a file that the shell opens on behalf of a command. Here-documents, and redirections that duplicate or
// close a descriptor (such as 2>&1), are not included.
type Redirect struct {
	// Op is ">", ">>", ">|", "<" or "<>".
	Op string
	// Path is the path of the file. Note that bash treats /dev/tcp/HOST/PORT as a network connection instead.
	Path Arg
}

const (
	maxLine  = 64 << 10 // bytes of a line
	maxShell = 4        // shells within shells
	maxVia   = 12       // nested programs that run programs
	maxNest  = 100      // constructs within constructs
)

// Parse returns every program run by a shell line, in order of appearance. A program inside a word, such as $(date),
// comes before the command that contains the word. All errors are of type *Error. If Parse returns an error, it was
// unable to analyse the line completely, so the line must not be run.
//
// The result depends only on the line, and not on the machine, the environment or any files.
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
