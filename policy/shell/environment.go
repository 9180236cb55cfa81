package shell

// The variables that the programs of a line get: those of the request, and those that the line sets.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// refusedEnvironment says why a line must not be run in the environment of a proposal; empty if it may be.
func refusedEnvironment(p acpterm.Proposal) string {
	for _, v := range p.Requested.Env {
		reason := variableProblem(Assignment{Name: v.Name, Value: Arg{Text: v.Value, Literal: true, One: true}})
		if reason != "" {
			return "a request for a shell must not set " + reason
		}
	}
	for _, variable := range p.Command.Env {
		name, value, _ := strings.Cut(variable, "=")
		if slices.Contains([]string{"LC_ALL", "LC_CTYPE", "LANG"}, name) && !harmlessLocale.MatchString(value) {
			return name + " must be C, POSIX or a locale in UTF-8: in others a shell may read the line differently"
		}
	}
	return ""
}

// lasting are the changes that a line makes to the environment of the commands after them. reason says why they cannot
// be told: a name with two values, of which it depends on the moment which one a program gets.
func lasting(commands []Command, p acpterm.Proposal) (changes []Assignment, reason string) {
	exported := exports(commands, p)
	last := make(map[string]Assignment)
	for _, c := range commands {
		for _, a := range shellAssignments(c) {
			if !exported[a.Name] {
				continue
			}
			if previous, there := last[a.Name]; there && previous != a {
				return nil, severalValues(a.Name)
			}
			last[a.Name] = a
			changes = append(changes, a)
		}
	}
	for _, c := range commands {
		for _, a := range c.Env {
			if previous, there := last[a.Name]; there && previous != a {
				return nil, severalValues(a.Name)
			}
		}
	}
	return changes, ""
}

func severalValues(name string) string {
	return fmt.Sprintf("the variable %q has several values in the line", name)
}

// shellAssignments are what a piece of a line assigns in the shell itself: an assignment without a command, and one in
// front of a builtin, which in some shells outlasts the builtin.
func shellAssignments(c Command) []Assignment {
	if !c.Builtin {
		return nil
	}
	return slices.Concat(c.Env, c.Sets)
}

// exports are the names of the variables that programs of a line may get from the shell: it has them in its
// environment, or the line exports them. Those in front of a command count, too: the command may be a shell, or a
// builtin.
func exports(commands []Command, p acpterm.Proposal) map[string]bool {
	names := make(map[string]bool)
	for _, variable := range p.Command.Env {
		name, _, _ := strings.Cut(variable, "=")
		names[name] = true
	}
	for _, c := range commands {
		for _, name := range c.Exports {
			names[name] = true
		}
		if c.Name == "" {
			continue
		}
		for _, a := range c.Env {
			names[a.Name] = true
		}
	}
	return names
}

// values are assignments as variables. One that is removed is empty.
func values(assignments []Assignment) (variables []acpterm.EnvVariable) {
	for _, a := range assignments {
		variables = append(variables, acpterm.EnvVariable{Name: a.Name, Value: a.Value.Text})
	}
	return variables
}

// unknownValues are the names of the variables whose values depend on what happens when the line runs.
func unknownValues(assignments []Assignment) (names []string) {
	for _, a := range assignments {
		if !a.Unset && !a.Value.Literal {
			names = append(names, a.Name)
		}
	}
	return names
}
