package shell

// The programs that a command's words run.

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// place is where a name is looked up.
type place bool

const (
	inShell   place = true  // by the shell, so it may be a builtin
	inProgram place = false // by another program
)

// run records a command and the commands that it runs.
func (w *walker) run(words []word, env []assignment, redirects []redirect, where place) *refusal {
	first, args := words[0], words[1:]
	if !first.Literal {
		return w.refuseWord(errUnknownCommand, "which command this is will be known only when the line runs", first)
	}
	if first.Text == "" || strings.ContainsAny(first.Text[:1], "-%") {
		return w.refuseWord(errUnknownCommand, "not the name of a program", first)
	}
	if isRelative(first.Text) && w.moved {
		return w.refuseWord(errDirectory, "a relative name after the directory changed", first)
	}
	key := tableName(first.Text)
	known, isBuiltin := builtins[key]
	isBuiltin = isBuiltin && where == inShell && key == first.Text
	// macOS has programs such as /usr/bin/read that run the builtin, so they are checked too.
	if isBuiltin || !known.file {
		if reason := hiddenBuiltins[key]; reason != "" {
			return w.refuseWord(errHidden, reason, first)
		}
		if known.check != nil {
			if reason := known.check(args); reason != "" {
				return w.refuseWord(errBuiltin, reason, first)
			}
		}
	}
	c := command{Name: first.Text, Args: plain(args), Env: env, Redirects: redirects, Builtin: isBuiltin}
	if isBuiltin && known.sets != nil {
		c.Sets, c.Exports = known.sets(args)
	}
	w.emit(c)
	if isBuiltin && key == "cd" {
		w.moved = true
	}
	if reason := hiddenPrograms[key]; reason != "" {
		return w.refuseWord(errHidden, reason, first)
	}
	p, ok := prefixes[key]
	if !ok {
		return nil
	}
	if len(w.via) >= maxVia {
		return w.refuseWord(errTooLarge, "too many programs that run programs", first)
	}

	// The commands that it runs have their own scope.
	outer := w.scope
	w.via = append(slices.Clone(w.via), first.Text)
	w.env = append(slices.Clone(w.env), env...)
	err := w.behind(p, first, args, where)
	moved := w.moved
	w.scope = outer
	if p.kind == runsBuiltin {
		w.moved = moved // for `command cd`
	}
	return err
}

func (w *walker) behind(p prefix, first word, args []word, where place) *refusal {
	switch p.kind {
	case runsShell:
		return w.runShell(first, args)
	case runsFound:
		return w.runFound(args)
	}
	o, err := w.options(p, first, args)
	if err != nil || o.ended {
		return err
	}
	w.moved = w.moved || o.moves
	w.env = append(w.env, o.env...)
	command := o.rest
	if len(command) == 0 && p.standard != "" {
		command = []word{literal(p.standard, first.from)}
	}
	if p.input {
		command = append(slices.Clone(command), word{from: first.from})
	}
	if len(command) == 0 {
		return nil
	}
	if err := w.replace(command, o.replaced); err != nil {
		return err
	}
	// macOS has a program /usr/bin/command, and it runs builtins.
	if p.kind == runsBuiltin {
		return w.run(command, nil, nil, where)
	}
	return w.run(command, nil, nil, inProgram)
}

// replace marks arguments that contain a replaced text as not literal.
func (w *walker) replace(command []word, replaced []string) *refusal {
	for _, text := range replaced {
		for i, a := range command {
			if !strings.Contains(a.Text, text) && a.Literal {
				continue
			}
			if i == 0 {
				return w.refuseWord(errUnknownCommand, "the name of the command is replaced by input", a)
			}
			// It is as many arguments as before, except at the end, where xargs' input stands.
			command[i] = word{arg: arg{Text: a.Text, One: a.One}, from: a.from}
		}
	}
	return nil
}

// found is the result of reading the options of a prefix program.
type found struct {
	rest     []word
	env      []assignment
	replaced []string
	moves    bool
	ended    bool
}

var number = regexp.MustCompile(`^-[0-9]+$`)

// options reads the arguments of a prefix program up to the command.
func (w *walker) options(p prefix, first word, args []word) (found, *refusal) {
	var o found
	for len(args) > 0 {
		a := args[0]
		if !a.Literal && a.dashless() {
			break
		}
		if !a.Literal {
			return o, w.refuseWord(errOption, "may be an option", a)
		}
		if a.Text == "--" {
			args = args[1:]
			if p.assigns && len(args) > 0 && strings.Contains(args[0].start, "=") {
				return o, w.refuseWord(errOption, "for env an assignment, for sudo the command", args[0])
			}
			break
		}
		if !strings.HasPrefix(a.Text, "-") {
			break
		}
		args = args[1:]
		if p.numbers && number.MatchString(a.Text) {
			continue
		}
		var err *refusal
		if strings.HasPrefix(a.Text, "--") {
			args, err = w.longOption(p, &o, a, args)
		} else {
			args, err = w.shortOptions(p, &o, a, args)
		}
		if err != nil {
			return o, err
		}
	}
	for range p.operands {
		if len(args) == 0 {
			break
		}
		if !args[0].One || !args[0].dashless() {
			return o, w.refuseWord(errOption, "not exactly one argument", args[0])
		}
		args = args[1:]
	}
	for p.assigns && len(args) > 0 && strings.Contains(args[0].start, "=") {
		set, ok := args[0].assignment()
		if !ok {
			return o, w.refuseWord(errOption, "not exactly one assignment", args[0])
		}
		if reason := variableProblem(set); reason != "" {
			return o, w.refuseWord(errVariable, reason, args[0])
		}
		o.env = append(o.env, set)
		args = args[1:]
	}
	o.rest = args
	return o, nil
}

func (w *walker) longOption(p prefix, o *found, a word, args []word) ([]word, *refusal) {
	name, text, has := strings.Cut(a.Text[2:], "=")
	if reason := p.refused[name]; reason != "" {
		return nil, w.refuseWord(errOption, reason, a)
	}
	kind, ok := p.long[name]
	if !ok || has && kind == noValue {
		return nil, w.refuseWord(errOption, "not an option that is known", a)
	}
	value := literal(text, a.from)
	if kind == needsValue && !has {
		if len(args) == 0 {
			return nil, w.refuseWord(errOption, "an option without its value", a)
		}
		value, args = args[0], args[1:]
	}
	return args, w.option(p, o, name, value, a)
}

func (w *walker) shortOptions(p prefix, o *found, a word, args []word) ([]word, *refusal) {
	if a.Text == "-" {
		reason := p.refused[""]
		if reason == "" {
			reason = "not an option that is known"
		}
		return nil, w.refuseWord(errOption, reason, a)
	}
	for i, c := range a.Text[1:] {
		name := string(c)
		switch {
		case p.refused[name] != "":
			return nil, w.refuseWord(errOption, p.refused[name], a)
		case strings.Contains(p.flags, name):
		case strings.Contains(p.ends, name):
			o.ended = true
		case strings.Contains(p.values, name):
			value := literal(a.Text[1+i+len(name):], a.from)
			if value.Text == "" {
				if len(args) == 0 {
					return nil, w.refuseWord(errOption, "an option without its value", a)
				}
				value, args = args[0], args[1:]
			}
			return args, w.option(p, o, name, value, a)
		default:
			return nil, w.refuseWord(errOption, "not an option that is known", a)
		}
	}
	return args, nil
}

// option records an option with its value.
func (w *walker) option(p prefix, o *found, name string, value, a word) *refusal {
	if !value.One {
		return w.refuseWord(errOption, "not exactly one value", value)
	}
	o.moves = o.moves || slices.Contains(p.moves, name)
	if slices.Contains(p.unsets, name) {
		if !value.Literal {
			return w.refuseWord(errOption, "a name that is not known", value)
		}
		if reason := variableProblem(assignment{Name: value.Text, Value: arg{Literal: true}}); reason != "" {
			return w.refuseWord(errVariable, reason, value)
		}
		o.env = append(o.env, assignment{Name: value.Text, Unset: true})
	}
	if slices.Contains(p.replaces, name) {
		text := value.Text
		if !value.Literal {
			return w.refuseWord(errOption, "a text that is not known", value)
		}
		if text == "" {
			text = "{}"
		}
		o.replaced = append(o.replaced, text)
	}
	return nil
}

// runShell walks `sh -c TEXT`. A shell with a file is an ordinary program. A shell without one runs its input, and is
// refused.
func (w *walker) runShell(first word, args []word) *refusal {
	text := false
	for len(args) > 0 {
		a := args[0]
		if !a.Literal {
			return w.refuseWord(errHidden, "what the shell runs is not known", a)
		}
		if len(a.Text) == 0 || a.Text[0] != '-' && a.Text[0] != '+' {
			break
		}
		args = args[1:]
		if a.Text == "--" {
			break
		}
		if shellLong[a.Text] {
			w.login(a.Text == "--login")
			continue
		}
		if len(a.Text) == 1 || strings.HasPrefix(a.Text, "--") {
			return w.refuseWord(errOption, "not an option that is known", a)
		}
		for _, flag := range a.Text[1:] {
			switch {
			case flag == 'c' && a.Text[0] == '-':
				text = true
			case flag == 'o':
				if len(args) == 0 || !args[0].Literal || !slices.Contains(shellOptions, args[0].Text) {
					return w.refuseWord(errOption, "not an option that is known", a)
				}
				args = args[1:]
			case flag == 'l':
				w.login(true)
			case !strings.ContainsRune(shellFlags, flag):
				return w.refuseWord(errOption, "not an option that is known", a)
			}
		}
	}
	switch {
	case len(args) == 0:
		return w.refuseWord(errHidden, "the shell runs what it reads", first)
	case !args[0].Literal:
		return w.refuseWord(errHidden, "what the shell runs is not known", args[0])
	case text:
		return w.runText(args[0])
	case args[0].Text == "" || args[0].Text == "-" ||
		strings.HasPrefix(args[0].Text, "/dev/") || strings.Contains(args[0].Text, "/fd/"):
		return w.refuseWord(errHidden, "the shell runs what it reads", args[0])
	}
	return nil
}

// login sets Login of the last command, a shell.
func (w *walker) login(is bool) {
	last := &w.commands[len(w.commands)-1]
	last.Login = last.Login || is
}

// shellLong are the long options of bash that do not change how lines are read.
var shellLong = map[string]bool{
	"--login": true, "--norc": true, "--noprofile": true, "--posix": true, "--verbose": true,
}

// runText walks the text of a shell.
func (w *walker) runText(text word) *refusal {
	in := w.scope
	in.depth++
	in.via[len(in.via)-1] += " -c"
	commands, err := readLine(text.Text, in)
	if err != nil {
		err.Line, err.Column = lineColumn(w.src, text.from.Offset())
		return err
	}
	w.commands = append(w.commands, commands...)
	return nil
}

func (w *walker) refuseWord(kind kind, reason string, a word) *refusal {
	return w.refuseAt(kind, reason, a.from, a.Text)
}

func plain(words []word) []arg {
	var args []arg
	for _, a := range words {
		args = append(args, a.arg)
	}
	return args
}

// tableName returns the key of a name in the tables: its base name, with case folded as by a file system that ignores
// case. Such file systems fold the long s and the Kelvin sign to s and k.
func tableName(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, name)
	return strings.TrimSuffix(name, ".exe")
}
