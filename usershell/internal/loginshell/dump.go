package loginshell

// The command that makes a shell write its environment, and the reading of what comes. Both are the same on all
// systems.

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// The command is one text for sh, bash, zsh and fish, since the start-up files of one may execute another. All of it
// that the shell itself has to understand is a pipe and quotes. The environment goes through od: its lines begin with
// their offset and have two digits for each byte, so that other output between the marks cannot pass for a part of a
// value, and no value can contain a mark. One process writes marks and lines, so that what a shell writes before each
// command (a DEBUG trap) is before the first mark.
//
// The marks are not in the text as they are written: a shell or a start-up file that prints the text prints no mark.

// dumper is the program env, and the lines around what the command writes.
type dumper struct{ env, begin, end string }

func newDumper() dumper {
	random := rand.Text()
	return dumper{"/usr/bin/env", "acpterm-begin-" + random + "\n", "acpterm-end-" + random + "\n"}
}

// The system's directories come first in PATH, so that one with "." runs no od of that directory; the others follow,
// since some systems have only env and sh in the usual places. An env that does not know -0 (macOS 12) leaves the work
// to awk, which is to see the shell's own PATH.
const (
	octets = `o() { PATH="/usr/bin:/bin${PATH:+:$PATH}"; od -v -A d -t x1; }; `
	byAwk  = `/usr/bin/awk "BEGIN { for (k in ENVIRON) printf(\"%s=%s%c\", k, ENVIRON[k], 0) }" | o`

	// hasEntered fails unless the shell, whose directory this is, is in the one that it was to enter.
	hasEntered = `test "$(pwd -P)" = "$(cd -- "$` + directoryVariable + `" && pwd -P)" || exit 1; `
)

// enter enters a directory and runs what prompts run. Each shell evaluates its own part: zsh runs chpwd by itself, and
// so does fish for PWD. It is for interactive shells, which know no -e and -u but from a start-up file.
const enter = `set +eu; cd -- "$` + directoryVariable + `"; ` +
	`test -n "$BASH_VERSION" && eval '` +
	`for _acpterm_hook in "${PROMPT_COMMAND[@]}"; do eval "$_acpterm_hook"; done'; ` +
	`test -n "$ZSH_VERSION" && eval '` +
	`for _acpterm_hook in precmd "${precmd_functions[@]}"; do ` +
	`if (( ${+functions[$_acpterm_hook]} )); then "$_acpterm_hook"; fi; done'; ` +
	`test -n "$FISH_VERSION" && emit fish_prompt; `

// attempts is how often a shell is to write its environment: once more if other output came in between.
const attempts = 2

// argument is the text as an argument of -c.
func (d dumper) argument(enters bool) string {
	if enters {
		return enter + strings.Join(slices.Repeat([]string{d.command(hasEntered)}, attempts), "; ")
	}
	return strings.Join(slices.Repeat([]string{d.command("")}, attempts), "; ")
}

// input is the text as standard input, for a shell that the start-up files execute: in several lines, since they may
// read some of it when they ask questions. The space keeps a line out of histories, and is no "y".
func (d dumper) input(enters bool) string {
	const pipeSize = 4096 // that of a Linux user with very many pipes, and no other system's is smaller
	line := " " + d.command("") + "\n"
	if enters {
		line = " " + enter + d.command(hasEntered) + "\n"
	}
	return strings.Repeat(line, pipeSize/len(line))
}

func (d dumper) command(check string) string {
	hidden := func(mark string) string { return strings.TrimSuffix(mark[:8]+`""`+mark[8:], "\n") }
	return d.env + ` -0 | /bin/sh -c '` + octets + check + `echo ` + hidden(d.begin) + `; ` +
		`if ` + d.env + ` -0 >/dev/null 2>&1; then (o); else ` + byAwk + `; fi; echo ` + hidden(d.end) + `'`
}

var errGarbled = errors.New("not an environment")

// parse reads od's lines: an offset and up to 16 bytes each; less in the last one, and then the offset of the end.
func parse(dump []byte) (env []string, err error) {
	var environ []byte
	const perLine = 16
	over := false
	for line := range bytes.Lines(dump) {
		words := bytes.Fields(line)
		if len(words) == 0 || over {
			return nil, errGarbled
		}
		offset, err := strconv.Atoi(string(words[0]))
		if err != nil || offset != len(environ) || len(words) > 1+perLine {
			return nil, errGarbled
		}
		over = len(words) == 1
		for _, word := range words[1:] {
			octet, err := hex.DecodeString(string(word))
			if err != nil || len(octet) != 1 {
				return nil, errGarbled
			}
			environ = append(environ, octet[0])
		}
	}
	if !over || len(environ) == 0 || environ[len(environ)-1] != 0 {
		return nil, errGarbled
	}
	return strings.Split(string(environ[:len(environ)-1]), "\x00"), nil
}
