package acptermtest

// Checks of a program that embeds a Manager: released terminals, and options for single commands.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
)

// AllReleased fails the test if the Manager has unreleased terminals, and lists their commands. Since the program may
// still be about to release them, for example because an agent has just sent the requests, AllReleased waits up to four
// seconds.
func AllReleased(t testing.TB, m *acpterm.Manager) {
	t.Helper()
	unreleased := func() (left []string) {
		for _, terminal := range m.Terminals() {
			info := terminal.Info()
			line := fmt.Sprintf("%s of session %q, %s: %s", info.ID, info.SessionID, info.State, info.Command)
			left = append(left, line)
		}
		return left
	}
	if left := retryUntilNone(unreleased, 4*time.Second); len(left) > 0 {
		t.Errorf("acptermtest: terminals are not released:\n\n%s", strings.Join(left, "\n"))
	}
}

// checkCommandsFor calls Options.CommandsFor with each command that the Runner of a Manager is known to have, and
// reports options that would make every create of it fail.
func checkCommandsFor(t testing.TB, o acpterm.Options) {
	t.Helper()
	var commands Commands
	switch runner := o.Runner.(type) {
	case Commands:
		commands = runner
	case Machine:
		commands = runner.Commands
	}
	if o.CommandsFor == nil {
		return
	}
	for key := range commands {
		words := strings.Fields(key)
		if len(words) == 0 || key == "*" {
			continue
		}
		path := words[0]
		if !strings.Contains(path, "/") {
			path = "/usr/bin/" + path
		}
		chosen := optionsFor(o.CommandsFor, acpterm.Command{Path: path, Args: words, Dir: "/"})
		if err := checkOptions(o.Runner, chosen); err != nil {
			t.Errorf("acptermtest: Options.CommandsFor for %q: %v", key, err)
		}
	}
}

// optionsFor calls CommandsFor for a command of a session that does not exist. A panic proves nothing.
func optionsFor(
	choose func(acpterm.SessionID, acpterm.Command) *acpterm.CommandOptions, c acpterm.Command,
) (chosen *acpterm.CommandOptions) {
	defer func() { _ = recover() }()
	return choose("acptermtest", c)
}

// checkOptions returns the error that a create would return for options of CommandsFor.
func checkOptions(runner acpterm.Runner, o *acpterm.CommandOptions) error {
	if o == nil {
		return nil
	}
	if o.Dir != "" || o.Env != nil || o.Unattended != nil || o.Shell != nil || o.ShellLines != acpterm.ShellAuto {
		return fmt.Errorf("fields Dir, Env, Unattended, Shell and ShellLines must not be set: the command is resolved")
	}
	m, err := acpterm.NewManager(&acpterm.Options{Runner: runner, Commands: *o})
	if err != nil {
		return err
	}
	return m.Close()
}
