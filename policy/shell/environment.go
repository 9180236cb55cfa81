package shell

// The environment of the programs of a line: the request's variables, and the line's own.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// refusedEnvironment returns the reason to deny a line in the environment of a proposal, or "".
func refusedEnvironment(p acpterm.Proposal) string {
	for _, v := range p.Requested.Env {
		reason := variableProblem(assignment{Name: v.Name, Value: arg{Text: v.Value, Literal: true, One: true}})
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

// lastingChanges returns the changes that a line makes to the environment of later commands. reason is set if they are
// ambiguous: if a name has several values, the order of execution decides which one a program receives.
func lastingChanges(commands []command, p acpterm.Proposal) (changes []assignment, reason string) {
	exported := exports(commands, p)
	last := make(map[string]assignment)
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

// shellAssignments returns the assignments to variables of the shell itself: those without a command, and those in
// front of a builtin, which remain after it in some shells.
func shellAssignments(c command) []assignment {
	if !c.Builtin {
		return nil
	}
	return slices.Concat(c.Env, c.Sets)
}

// exports returns the names of the variables that the shell may export to programs: those of its environment, and those
// that the line exports. It includes those in front of a command, which may be a shell or a builtin.
func exports(commands []command, p acpterm.Proposal) map[string]bool {
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

// values converts assignments to variables. A removed variable is empty.
func values(assignments []assignment) (variables []acpterm.EnvVariable) {
	for _, a := range assignments {
		variables = append(variables, acpterm.EnvVariable{Name: a.Name, Value: a.Value.Text})
	}
	return variables
}

// unknownValues returns the names of variables without literal values.
func unknownValues(assignments []assignment) (names []string) {
	for _, a := range assignments {
		if !a.Unset && !a.Value.Literal {
			names = append(names, a.Name)
		}
	}
	return names
}
