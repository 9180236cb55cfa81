package shell

// The interpreter of a line: the programs that read POSIX shell, and their options.

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// readers are the shells whose lines this package reads, by file name.
var readers = []string{"sh", "dash", "bash", "ash", "busybox"}

// unreadable returns the reason why this package cannot read a line's language, or "". The file decides, not the name
// of a link to it.
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

// refusedOptions returns the reason to deny a line because of the arguments in front of it, or "".
func (p policy) refusedOptions(c acpterm.Command) string {
	unknown := fmt.Sprintf("%q has arguments that are not known to have it run a line", c.Args[0])
	words := slices.Clone(c.Args[:len(c.Args)-1])
	words[0] = filepath.Base(words[0])
	if words[0] == "busybox" && filepath.Base(c.Path) != "busybox" {
		return unknown
	}
	commands, err := parse(quote(append(words, ":"))) // ends with ":" if the shell runs it
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

// decideWhole decides on a line in another language.
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

// otherShellVariables are prefixes of variable names, in upper case, that determine what such other shells run. Windows
// and PowerShell ignore case.
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
