package shell

// The walk through the syntax tree. It refuses all nodes not named here.

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker collects the commands of one line.
type walker struct {
	scope
	src      string
	commands []command
	timed    []word // words of bash's keyword `time`, for the next command
}

// refuse returns the error for a node.
func (w *walker) refuse(kind kind, reason string, n syntax.Node) *refusal {
	return w.refuseAt(kind, reason, n.Pos(), w.text(n))
}

func (w *walker) refuseAt(kind kind, reason string, pos syntax.Pos, text string) *refusal {
	line, column := lineColumn(w.src, pos.Offset())
	return &refusal{Kind: kind, Reason: reason, Line: line, Column: column, Text: text}
}

// text returns the source text of a node.
func (w *walker) text(n syntax.Node) string {
	from, to := n.Pos().Offset(), min(n.End().Offset(), uint(len(w.src)))
	if from > to {
		return ""
	}
	return w.src[from:to]
}

func (w *walker) emit(c command) {
	c.Via, c.Moved = w.via, w.moved
	c.Env = append(append([]assignment(nil), w.env...), c.Env...)
	w.commands = append(w.commands, c)
}

// assigned records an assignment without a command: a loop's variable, ${x:=y}.
func (w *walker) assigned(n syntax.Node, a assignment) *refusal {
	if reason := variableProblem(a); reason != "" {
		return w.refuse(errVariable, reason, n)
	}
	w.emit(command{Env: []assignment{a}, Builtin: true})
	return nil
}

func (w *walker) stmts(list []*syntax.Stmt) *refusal {
	for _, s := range list {
		if err := w.stmt(s); err != nil {
			return err
		}
	}
	return nil
}

// subshell walks the commands of a subshell, which does not change the directory of the shell.
func (w *walker) subshell(list []*syntax.Stmt) *refusal {
	moved := w.moved
	err := w.stmts(list)
	w.moved = moved
	return err
}

func (w *walker) stmt(s *syntax.Stmt) *refusal {
	if s.Coprocess || s.Disown {
		return w.refuse(errNotPortable, "not POSIX shell", s)
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return w.call(s, call.Assigns, call.Args)
	}
	if decl, ok := s.Cmd.(*syntax.DeclClause); ok {
		return w.declaration(s, decl)
	}
	if t, ok := s.Cmd.(*syntax.TimeClause); ok && len(s.Redirs) == 0 {
		return w.time(t)
	}
	if s.Cmd != nil && len(s.Redirs) > 0 && s.Redirs[0].OpPos.Offset() < s.Cmd.Pos().Offset() {
		return w.refuse(errNotPortable, "redirection in front of a compound command", s)
	}
	redirects, err := w.redirects(s.Redirs)
	if err != nil {
		return err
	}
	if len(redirects) > 0 {
		w.emit(command{Redirects: redirects, Builtin: true})
	}
	if s.Cmd == nil {
		return nil
	}
	return w.compound(s.Cmd)
}

func (w *walker) compound(n syntax.Command) *refusal {
	switch n := n.(type) {
	case *syntax.Subshell:
		return w.subshell(n.Stmts)
	case *syntax.Block:
		return w.stmts(n.Stmts)
	case *syntax.IfClause:
		for ; n != nil; n = n.Else {
			if err := w.both(n.Cond, n.Then); err != nil {
				return err
			}
		}
		return nil
	case *syntax.WhileClause:
		return w.loop(n, func() *refusal { return w.both(n.Cond, n.Do) })
	case *syntax.ForClause:
		return w.forLoop(n)
	case *syntax.CaseClause:
		return w.caseClause(n)
	case *syntax.BinaryCmd:
		switch n.Op {
		case syntax.AndStmt, syntax.OrStmt, syntax.Pipe:
			return w.both([]*syntax.Stmt{n.X}, []*syntax.Stmt{n.Y})
		}
	case *syntax.FuncDecl:
		return w.refuse(errFunction, "a function can take the name of any program", n)
	}
	return w.refuse(errNotPortable, "not POSIX shell", n)
}

func (w *walker) both(first, second []*syntax.Stmt) *refusal {
	if err := w.stmts(first); err != nil {
		return err
	}
	return w.stmts(second)
}

// loop walks a loop. In the next iteration, a cd in it also precedes the commands in front of it.
func (w *walker) loop(n syntax.Node, body func() *refusal) *refusal {
	first, moved := len(w.commands), w.moved
	if err := body(); err != nil {
		return err
	}
	if !w.moved || moved {
		return nil
	}
	for i := first; i < len(w.commands); i++ {
		w.commands[i].Moved = true
		if isRelative(w.commands[i].Name) {
			return w.refuse(errDirectory, "a relative name in a loop that changes the directory", n)
		}
	}
	return nil
}

func (w *walker) forLoop(n *syntax.ForClause) *refusal {
	iter, ok := n.Loop.(*syntax.WordIter)
	if !ok || n.Select || n.Braces {
		return w.refuse(errNotPortable, "not a POSIX loop", n)
	}
	if !isName(iter.Name.Value) {
		return w.refuse(errNotPortable, "not a variable", iter.Name)
	}
	for _, item := range iter.Items {
		if _, err := w.word(item); err != nil {
			return err
		}
	}
	value := arg{Text: w.text(iter), One: true}
	if err := w.assigned(iter, assignment{Name: iter.Name.Value, Value: value}); err != nil {
		return err
	}
	return w.loop(n, func() *refusal { return w.stmts(n.Do) })
}

func (w *walker) caseClause(n *syntax.CaseClause) *refusal {
	if n.Braces {
		return w.refuse(errNotPortable, "not POSIX shell", n)
	}
	if _, err := w.word(n.Word); err != nil {
		return err
	}
	for _, item := range n.Items {
		if item.Op != syntax.Break {
			return w.refuse(errNotPortable, "not POSIX shell", item)
		}
		for _, pattern := range item.Patterns {
			if _, err := w.word(pattern); err != nil {
				return err
			}
		}
		if err := w.stmts(item.Stmts); err != nil {
			return err
		}
	}
	return nil
}

// time walks bash's keyword as dash reads it: as a program in front of the next command.
func (w *walker) time(n *syntax.TimeClause) *refusal {
	w.timed = append(w.timed, literal("time", n.Time))
	if n.PosixFormat {
		w.timed = append(w.timed, literal("-p", n.Time))
	}
	first := n.Stmt
	for first != nil {
		pipe, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe || first.Negated {
			break
		}
		first = pipe.X
	}
	if first == nil {
		return w.run(w.takeTimed(), nil, nil, inShell)
	}
	if call, ok := first.Cmd.(*syntax.CallExpr); !ok || first.Negated || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return w.refuse(errNotPortable, "dash runs a program of the name time here", n)
	}
	return w.stmt(n.Stmt)
}

func (w *walker) takeTimed() []word {
	words := w.timed
	w.timed = nil
	return words
}

func literal(text string, pos syntax.Pos) word {
	return word{arg: arg{Text: text, Literal: true, One: true}, start: text, from: pos}
}

// declaration walks `export x=y` as a simple command.
func (w *walker) declaration(s *syntax.Stmt, n *syntax.DeclClause) *refusal {
	words := []*syntax.Word{{Parts: []syntax.WordPart{n.Variant}}}
	for _, a := range n.Args {
		if a.Append || a.Index != nil || a.Array != nil {
			return w.refuse(errNotPortable, "not a POSIX assignment", a)
		}
		var parts []syntax.WordPart
		if a.Name != nil {
			parts = append(parts, a.Name)
		}
		if a.Name != nil && !a.Naked {
			end := a.Name.ValueEnd
			parts = append(parts, &syntax.Lit{ValuePos: end, ValueEnd: end, Value: "="})
		}
		if a.Value != nil {
			parts = append(parts, a.Value.Parts...)
		}
		words = append(words, &syntax.Word{Parts: parts})
	}
	return w.call(s, nil, words)
}

// call walks a simple command.
func (w *walker) call(s *syntax.Stmt, assigns []*syntax.Assign, args []*syntax.Word) *refusal {
	words := w.takeTimed()
	var env []assignment
	for _, a := range assigns {
		if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil {
			return w.refuse(errNotPortable, "not a POSIX assignment", a)
		}
		value := word{arg: arg{Literal: true, One: true}}
		if a.Value != nil {
			var err *refusal
			if value, err = w.word(a.Value); err != nil {
				return err
			}
		}
		value.One = true // values are not split
		set := assignment{Name: a.Name.Value, Value: value.arg}
		if reason := variableProblem(set); reason != "" {
			return w.refuse(errVariable, reason, a)
		}
		env = append(env, set)
	}
	for _, n := range args {
		a, err := w.word(n)
		if err != nil {
			return err
		}
		words = append(words, a)
	}
	redirects, err := w.redirects(s.Redirs)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		if len(env) > 0 || len(redirects) > 0 {
			w.emit(command{Env: env, Redirects: redirects, Builtin: true})
		}
		return nil
	}
	return w.run(words, env, redirects, inShell)
}

// fileRedirects are the operators that open a file.
var fileRedirects = map[syntax.RedirOperator]bool{
	syntax.RdrOut: true, syntax.AppOut: true, syntax.RdrIn: true, syntax.RdrInOut: true, syntax.RdrClob: true,
}

func (w *walker) redirects(list []*syntax.Redirect) ([]redirect, *refusal) {
	var found []redirect
	for _, n := range list {
		// dash reads only one digit as a descriptor; in 12>x it reads 12 as an argument.
		if n.N != nil && (len(n.N.Value) != 1 || n.N.Value[0] < '0' || n.N.Value[0] > '9') {
			return nil, w.refuse(errNotPortable, "descriptor is not one digit", n)
		}
		if n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc {
			if err := w.hereDocument(n); err != nil {
				return nil, err
			}
			continue
		}
		target, err := w.word(n.Word)
		if err != nil {
			return nil, err
		}
		switch {
		case fileRedirects[n.Op]:
			found = append(found, redirect{n.Op.String(), target.arg})
		case n.Op != syntax.DplOut && n.Op != syntax.DplIn:
			return nil, w.refuse(errNotPortable, "not a POSIX redirection", n)
		case !target.Literal || target.Text != "-" && (len(target.Text) != 1 || target.Text[0] < '0' || target.Text[0] > '9'):
			return nil, w.refuse(errNotPortable, "not one digit or a dash: bash takes it for a file", n)
		}
	}
	return found, nil
}

// isRelative reports whether the file of a name depends on the directory.
func isRelative(name string) bool {
	return strings.Contains(name, "/") && !strings.HasPrefix(name, "/")
}
