//go:build linux || darwin || freebsd

package loginshell

// The user's shell, and the shells that do not understand the command. This is only for Unix.

import (
	"bufio"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// entry is a user's entry in a password file.
type entry struct{ home, shell string }

// readEntry finds a user in a password file (man 5 passwd). For an unknown user it returns an empty entry.
func readEntry(file io.Reader, uid int) entry {
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(uid) {
			return entry{home: fields[5], shell: fields[6]}
		}
	}
	return entry{}
}

// unsupported lists programs that do not understand the command, or are not shells.
var unsupported = map[string]bool{
	"csh": true, "tcsh": true, "rc": true, "es": true, "nu": true, "xonsh": true, "elvish": true, "pwsh": true,
	"false": true, "true": true, "nologin": true, "git-shell": true,
}

// supported reports whether a shell may understand the command: sh, bash, zsh, fish, and all shells not in unsupported.
func supported(shell string) bool { return !unsupported[filepath.Base(shell)] }

// arguments returns arguments that make a shell read the user's start-up files and then run a command. Some sh do not
// know -l.
func arguments(shell, command string) []string {
	switch name := filepath.Base(shell); name {
	case "sh", "dash", "ash":
		return []string{"-" + name, "-i", "-c", command}
	}
	return []string{shell, "-l", "-i", "-c", command}
}
