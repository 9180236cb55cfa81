//go:build linux || darwin || freebsd

package loginshell

// Which shell is the person's, and which are known not to understand the command. Unix alone has such.

import (
	"bufio"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// entry is what a password file says of a user.
type entry struct{ home, shell string }

// readEntry finds a user in a password file (man 5 passwd). An unknown user has an empty entry.
func readEntry(file io.Reader, uid int) entry {
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(uid) {
			return entry{home: fields[5], shell: fields[6]}
		}
	}
	return entry{}
}

// unsupported are programs that do not understand the command, or are no shells at all.
var unsupported = map[string]bool{
	"csh": true, "tcsh": true, "rc": true, "es": true, "nu": true, "xonsh": true, "elvish": true, "pwsh": true,
	"false": true, "true": true, "nologin": true, "git-shell": true,
}

// supported reports whether a shell may understand the command: sh, bash, zsh, fish, and whatever is not known not to.
func supported(shell string) bool { return !unsupported[filepath.Base(shell)] }

// arguments are those that have a shell read a person's start-up files and then run a command. Some sh know no -l.
func arguments(shell, command string) []string {
	switch name := filepath.Base(shell); name {
	case "sh", "dash", "ash":
		return []string{"-" + name, "-i", "-c", command}
	}
	return []string{shell, "-l", "-i", "-c", command}
}
