package shell

// The merge of the two dialects' commands into one result. An argument whose text differs is not literal; any other
// difference refuses the line.

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
	if a.Name != b.Name || a.Builtin != b.Builtin || a.Moved != b.Moved || a.Login != b.Login ||
		!slices.Equal(a.Via, b.Via) || !slices.Equal(a.Exports, b.Exports) ||
		len(a.Args) != len(b.Args) || len(a.Redirects) != len(b.Redirects) {
		return Command{}, false
	}
	merged := Command{Name: a.Name, Exports: a.Exports, Via: a.Via, Builtin: a.Builtin, Moved: a.Moved, Login: a.Login}
	for i := range a.Args {
		merged.Args = append(merged.Args, mergeArg(a.Args[i], b.Args[i]))
	}
	var sameEnv, sameSets bool
	merged.Env, sameEnv = mergeAssignments(a.Env, b.Env)
	merged.Sets, sameSets = mergeAssignments(a.Sets, b.Sets)
	if !sameEnv || !sameSets {
		return Command{}, false
	}
	for i := range a.Redirects {
		if a.Redirects[i].Op != b.Redirects[i].Op {
			return Command{}, false
		}
		path := mergeArg(a.Redirects[i].Path, b.Redirects[i].Path)
		merged.Redirects = append(merged.Redirects, Redirect{a.Redirects[i].Op, path})
	}
	return merged, true
}

func mergeAssignments(a, b []Assignment) (merged []Assignment, ok bool) {
	if len(a) != len(b) {
		return nil, false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Unset != b[i].Unset {
			return nil, false
		}
		merged = append(merged, Assignment{a[i].Name, mergeArg(a[i].Value, b[i].Value), a[i].Unset})
	}
	return merged, true
}

// mergeArg keeps the text of the non-literal argument: the source text of the word.
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
