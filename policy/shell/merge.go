package shell

// The merge of the two dialects' commands into one result. An argument whose text differs is not literal; any other
// difference refuses the line.

import "slices"

func merge(a, b []command) ([]command, bool) {
	if len(a) != len(b) {
		return nil, false
	}
	merged := make([]command, 0, len(a))
	for i := range a {
		c, ok := mergeCommand(a[i], b[i])
		if !ok {
			return nil, false
		}
		merged = append(merged, c)
	}
	return merged, true
}

func mergeCommand(a, b command) (command, bool) {
	if a.Name != b.Name || a.Builtin != b.Builtin || a.Moved != b.Moved || a.Login != b.Login ||
		!slices.Equal(a.Via, b.Via) || !slices.Equal(a.Exports, b.Exports) ||
		len(a.Args) != len(b.Args) || len(a.Redirects) != len(b.Redirects) {
		return command{}, false
	}
	merged := command{Name: a.Name, Exports: a.Exports, Via: a.Via, Builtin: a.Builtin, Moved: a.Moved, Login: a.Login}
	for i := range a.Args {
		merged.Args = append(merged.Args, mergeArg(a.Args[i], b.Args[i]))
	}
	var sameEnv, sameSets bool
	merged.Env, sameEnv = mergeAssignments(a.Env, b.Env)
	merged.Sets, sameSets = mergeAssignments(a.Sets, b.Sets)
	if !sameEnv || !sameSets {
		return command{}, false
	}
	for i := range a.Redirects {
		if a.Redirects[i].Op != b.Redirects[i].Op {
			return command{}, false
		}
		path := mergeArg(a.Redirects[i].Path, b.Redirects[i].Path)
		merged.Redirects = append(merged.Redirects, redirect{a.Redirects[i].Op, path})
	}
	return merged, true
}

func mergeAssignments(a, b []assignment) (merged []assignment, ok bool) {
	if len(a) != len(b) {
		return nil, false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Unset != b[i].Unset {
			return nil, false
		}
		merged = append(merged, assignment{a[i].Name, mergeArg(a[i].Value, b[i].Value), a[i].Unset})
	}
	return merged, true
}

// mergeArg keeps the text of the non-literal argument: the source text of the word.
func mergeArg(a, b arg) arg {
	switch {
	case a == b:
		return a
	case a.Literal && b.Literal:
		return arg{Text: a.Text, One: true}
	case a.Literal:
		return arg{Text: b.Text, One: b.One}
	default:
		return arg{Text: a.Text, One: a.One && b.One}
	}
}
