package view

// A command as pages show it: the script of a shell, or the arguments in the quotes of a shell, both bounded.

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/acpterm/acpterm"
)

// shells are the programs whose script is shown instead of their arguments.
var shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ash": true, "ksh": true, "fish": true}

// scriptOf splits the arguments of a shell, such as "bash", "-lc" and a script, into the shell with its options and the
// script. It reports false for anything else, and for a script with arguments of its own.
func scriptOf(args []string) (shell, script string, ok bool) {
	if len(args) < 3 || !shells[path.Base(args[0])] {
		return "", "", false
	}
	last := len(args) - 1
	options := args[1:last]
	for i, option := range options {
		letters, short := strings.CutPrefix(option, "-")
		if !short || letters == "" || strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz") != "" {
			return "", "", false
		}
		if strings.Contains(letters, "c") != (i == len(options)-1) { // the script follows the option c
			return "", "", false
		}
	}
	return path.Base(args[0]) + " " + strings.Join(options, " "), args[last], true
}

// shownCommand returns a command as printable text and, if that is the script of a shell, the shell with its options.
// If the text is too long, each long argument is cut, so that the arguments after it are visible.
func shownCommand(s acpterm.Subject) (command, shell string) {
	if s.ShellLine != "" {
		return printable(s.ShellLine, maxCommand), ""
	}
	if shell, script, ok := scriptOf(s.Args); ok && strings.TrimSpace(script) != "" {
		return printable(script, maxCommand), shell
	}
	total := 0
	for _, argument := range s.Args {
		total += len(argument) + 1
	}
	var b strings.Builder
	for i, argument := range s.Args {
		if b.Len() >= maxCommand {
			fmt.Fprintf(&b, " … and %d arguments more", len(s.Args)-i)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		kept := argument
		if total > maxCommand {
			kept = prefix(argument, maxArgument)
		}
		b.WriteString(printable(quoted(kept), maxCommand))
		if len(kept) < len(argument) {
			fmt.Fprintf(&b, "… (%d bytes)", len(argument))
		}
	}
	return b.String(), ""
}

// quoted returns an argument as a user would type it in a shell: in single quotes, unless it needs none.
func quoted(argument string) string {
	isPlain := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_./:,@%+=", c)
	}
	if argument != "" && strings.IndexFunc(argument, func(c rune) bool { return !isPlain(c) }) < 0 {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
