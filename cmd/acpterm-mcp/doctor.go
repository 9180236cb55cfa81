package main

// The command doctor, which says what works here.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/usershell"
)

// versionTimeout is how long an agent may take to print its version.
const versionTimeout = 30 * time.Second

// doctor prints a line about each part that this program depends on, and fails if commands could not run.
func doctor(arguments []string, out io.Writer) error {
	if len(arguments) > 0 {
		return fmt.Errorf("%w: doctor has no arguments: it says what works here", errUsage)
	}
	var opts options
	if err := opts.findRoots(); err != nil {
		return err
	}
	line := func(what, text string) { fmt.Fprintf(out, "%-9s %s\n", what, text) }
	line("version", cmp.Or(version(), "(devel)")+" for "+runtime.GOOS+"/"+runtime.GOARCH)
	command, err := ownCommand()
	if err == nil && filepath.IsAbs(command) {
		command += " (not in PATH under its name, so init writes the path)"
	}
	line("command", orError(command, err))
	line("project", opts.roots[0]+": "+strings.Join(projectArgs("."), " "))
	line("sandbox", sandboxState())
	shell, failed := exec.LookPath("/bin/sh")
	if runtime.GOOS == "windows" {
		shell, failed = exec.LookPath("cmd")
	}
	line("shells", orError(shell, failed)+others())
	line("programs", programsFound(installed(nil)))
	dir, err := opts.ownDir()
	if err == nil {
		var name string
		name, err = journalName()
		dir = filepath.Join(dir, name)
	}
	if runtime.GOOS == "darwin" && err == nil {
		dir += " (names what a crash left behind, and cannot end it on this system)"
	}
	line("journal", orError(dir, err))
	line("always", alwaysState(&opts))
	line("agents", agentsFound())
	line("page", pagesFound(&opts))
	return failed
}

// pagesFound counts the running servers with a page.
func pagesFound(opts *options) string {
	list, err := opts.pages()
	if err != nil {
		return orError("", err)
	}
	switch n := len(list.all()); n {
	case 0:
		return "no server with -view is running"
	case 1:
		return "1 server with -view is running: acpterm-mcp open"
	default:
		return fmt.Sprintf("%d servers with -view are running: acpterm-mcp open", n)
	}
}

func orError(text string, err error) string {
	if err != nil {
		return "NOT WORKING: " + err.Error()
	}
	return text
}

func sandboxState() string {
	if runtime.GOOS != "linux" {
		return "not available: -sandbox needs Linux"
	}
	_, err := bubblewrap.New(nil)
	return orError("bubblewrap works, so -sandbox does", err)
}

// others names the other shells that -shell knows and that exist.
func others() string {
	var found []string
	for _, name := range []string{"bash", "zsh", "fish", "pwsh"} {
		if _, err := usershell.KnownShell(name); err != nil {
			continue
		}
		if _, err := exec.LookPath(name); err == nil {
			found = append(found, name)
		}
	}
	if found == nil {
		return ""
	}
	return "; for -shell: " + strings.Join(found, ", ")
}

// programsFound counts the programs of each rule set that exist.
func programsFound(exists func(string) bool) string {
	var parts []string
	for _, name := range setNames() {
		set, err := readSet(name)
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, c := range set.Commands {
			all = append(all, c.Programs...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		found := slices.DeleteFunc(slices.Clone(all), func(program string) bool { return !exists(program) })
		parts = append(parts, fmt.Sprintf("%s %d of %d", name, len(found), len(all)))
	}
	return strings.Join(parts, ", ")
}

func alwaysState(opts *options) string {
	a := opts.openAlways()
	if a == nil {
		return "not offered"
	}
	all, err := a.read()
	return orError(fmt.Sprintf("%d commands in %s", len(all), a.path), err)
}

// agentsFound names the agents with their versions, and whether they have an entry for this program.
func agentsFound() string {
	agents := agentKinds()
	found := make([]string, len(agents))
	var looking sync.WaitGroup
	for i, agent := range agents {
		looking.Go(func() {
			if path, err := exec.LookPath(agent.program); err == nil {
				found[i] = agent.title + " " + agentVersion(path, versionTimeout) + " (" + agent.entryState() + ")"
			}
		})
	}
	looking.Wait()
	found = slices.DeleteFunc(found, func(text string) bool { return text == "" })
	if len(found) == 0 {
		return "none of the agents that init knows is in PATH"
	}
	return strings.Join(found, ", ")
}

// agentVersion returns the version that a program prints within a time.
func agentVersion(path string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	cmd.Dir = os.TempDir() // not the project, whose files an agent may obey
	text, err := cmd.Output()
	if found := regexp.MustCompile(`[0-9]+(\.[0-9]+)+`).Find(text); err == nil && found != nil {
		return string(found)
	}
	return "of an unknown version"
}

// entryState says whether the agent has an entry for this program.
func (a agentKind) entryState() string {
	path, err := a.file()
	if err != nil {
		return err.Error()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "no entry; acpterm-mcp init " + a.name
	}
	read := dataOf
	if a.isTOML {
		read = tomlData
	}
	data, err := read(text)
	switch {
	case err != nil:
		return path + " is invalid"
	case valueAt(data, a.path) == nil:
		return "no entry; acpterm-mcp init " + a.name
	}
	return "has an entry"
}
