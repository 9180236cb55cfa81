package shell

// The interpreter of a line: which programs read POSIX shell, with which options.

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// readers are the shells whose lines are read, by the name of their file.
var readers = []string{"sh", "dash", "bash", "ash", "busybox"}

// unreadable returns the reason why the language of a line is not that of readers, or "". The file decides, and not the
// name of a link to it.
func unreadable(p acpterm.Proposal) string {
	c := p.Command
	file := filepath.Base(c.Path)
	switch {
	case runtime.GOOS == "windows" && !p.Remote():
		return fmt.Sprintf("lines for %q cannot be seen through: names mean other programs to shells on Windows", file)
	case !slices.Contains(readers, file):
		return fmt.Sprintf("lines for %q cannot be seen through, only those for %s", file, strings.Join(readers, ", "))
	}
	return ""
}

// refusedOptions returns the reason to deny a line because of what stands in front of it, or "".
func (p policy) refusedOptions(c acpterm.Command) string {
	unknown := fmt.Sprintf("%q has arguments that are not known to have it run a line", c.Args[0])
	words := slices.Clone(c.Args[:len(c.Args)-1])
	words[0] = filepath.Base(words[0])
	if words[0] == "busybox" && filepath.Base(c.Path) != "busybox" {
		return unknown
	}
	commands, err := Parse(quote(append(words, ":"))) // ends with ":" if that is what the shell runs
	if err != nil || len(commands) < 2 || commands[len(commands)-1].Name != ":" {
		return unknown
	}
	for _, shell := range commands[:len(commands)-1] {
		switch {
		case !slices.Contains(readers, shell.Name):
			return unknown
		case shell.Login && !p.options.LoginShells:
			return fmt.Sprintf("%q is a login shell, whose start-up files may change PATH", shell.Name)
		}
	}
	return ""
}

// decideWhole is the decision about a line that cannot be seen through.
func (p policy) decideWhole(ctx context.Context, proposal acpterm.Proposal, reason string) acpterm.Decision {
	if !p.options.OtherShells {
		return deny(reason)
	}
	if reason := refusedEnvironment(proposal); reason != "" {
		return deny(reason)
	}
	for _, v := range proposal.Requested.Env {
		if steersOtherShell(v.Name) {
			return deny(fmt.Sprintf("a request for a shell must not set %s, which decides what such a shell runs", v.Name))
		}
	}
	return p.rules.Decide(ctx, proposal)
}

// otherShellVariables are beginnings of names, in capitals, of variables that decide what shells run whose lines are not
// read. Windows and PowerShell do not tell capitals apart.
var otherShellVariables = []string{
	"PATH", "COMSPEC", "PROMPT", "SYSTEMROOT", "WINDIR", "PSMODULE", "PSEXECUTIONPOLICY", "__PS", "POWERSHELL_", "DOTNET",
	"COMPLUS_", "CORECLR_", "COR_", "WSL", "MSYS", "CYGWIN", "CHERE_INVOKING", "HOME", "USERPROFILE", "APPDATA",
	"LOCALAPPDATA", "XDG_", "FISH_", "__FISH", "ZDOTDIR", "ZSH", "FPATH", "MODULE_PATH", "CDPATH", "NULLCMD",
	"READNULLCMD", "STTY", "LD_", "DYLD_",
}

func steersOtherShell(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(otherShellVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
