package shell

// One result out of two readings of a line. Where dash and bash differ only in the text of an argument,
// the argument is not literal; where they differ in anything else, the line is refused.

import "slices"

func merge(a, b []Command) ([]Command, bool) {
	if len(a) != len(b) {
		return nil, false
	}
	merged := make([]Command, 0, len(a))
	for i := range a {
		c, ok := mergeCommand(a[i], b[i])
		if !ok {
			return nil, false
		}
		merged = append(merged, c)
	}
	return merged, true
}

func mergeCommand(a, b Command) (Command, bool) {
	if a.Name != b.Name || a.Builtin != b.Builtin || a.Moved != b.Moved || !slices.Equal(a.Via, b.Via) ||
		len(a.Args) != len(b.Args) || len(a.Env) != len(b.Env) || len(a.Redirects) != len(b.Redirects) {
		return Command{}, false
	}
	merged := Command{Name: a.Name, Via: a.Via, Builtin: a.Builtin, Moved: a.Moved}
	for i := range a.Args {
		merged.Args = append(merged.Args, mergeArg(a.Args[i], b.Args[i]))
	}
	for i := range a.Env {
		if a.Env[i].Name != b.Env[i].Name {
			return Command{}, false
		}
		merged.Env = append(merged.Env, Assignment{a.Env[i].Name, mergeArg(a.Env[i].Value, b.Env[i].Value)})
	}
	for i := range a.Redirects {
		if a.Redirects[i].Op != b.Redirects[i].Op {
			return Command{}, false
		}
		merged.Redirects = append(merged.Redirects, Redirect{a.Redirects[i].Op, mergeArg(a.Redirects[i].Path, b.Redirects[i].Path)})
	}
	return merged, true
}

// mergeArg keeps the text of the reading that is not literal: it is the word as it is written.
func mergeArg(a, b Arg) Arg {
	switch {
	case a == b:
		return a
	case a.Literal && b.Literal:
		return Arg{Text: a.Text, One: true}
	case a.Literal:
		return Arg{Text: b.Text, One: b.One}
	default:
		return Arg{Text: a.Text, One: a.One && b.One}
	}
}
