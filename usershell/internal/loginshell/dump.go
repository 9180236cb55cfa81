package loginshell

// The command that makes a shell write its environment, and the parsing of its output. Both are the same on all
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

// The command is one text for sh, bash, zsh and fish, since the start-up files of one shell may execute another. The
// shell itself needs to understand only a pipe and quotes. The environment goes through od. Lines of od begin with
// their offset and have two digits for each byte, so that other output between the marks cannot pass for a part of a
// value, and a value cannot contain a mark. One process writes both marks and lines, so that output before each command
// (a DEBUG trap) comes before the first mark.
//
// The text does not contain the marks in their written form: a shell or a start-up file that prints the text does not
// print a mark.

// dumper has the path of env, and the mark lines before and after the output.
type dumper struct{ env, begin, end string }

func newDumper() dumper {
	random := rand.Text()
	return dumper{"/usr/bin/env", "acpterm-begin-" + random + "\n", "acpterm-end-" + random + "\n"}
}

// The system's directories come first in PATH, so that a PATH with "." does not run od from the current directory. The
// others follow, since some systems have only env and sh in the usual places. If env does not know -0 (macOS 12), awk
// does the work, and must see the shell's own PATH.
const (
	octets = `o() { PATH="/usr/bin:/bin${PATH:+:$PATH}"; od -v -A d -t x1; }; `
	byAwk  = `/usr/bin/awk "BEGIN { for (k in ENVIRON) printf(\"%s=%s%c\", k, ENVIRON[k], 0) }" | o`

	// hasEntered exits unless it runs, like the shell, in the directory to enter.
	hasEntered = `test "$(pwd -P)" = "$(cd -- "$` + directoryVariable + `" && pwd -P)" || exit 1; `
)

// enter enters a directory and runs the prompt's hooks. Each shell evaluates its own part: zsh runs chpwd by itself,
// and fish runs its events for PWD. The text is for interactive shells, which have -e and -u only from a start-up file.
const enter = `set +eu; cd -- "$` + directoryVariable + `"; ` +
	`test -n "$BASH_VERSION" && eval '` +
	`for _acpterm_hook in "${PROMPT_COMMAND[@]}"; do eval "$_acpterm_hook"; done'; ` +
	`test -n "$ZSH_VERSION" && eval '` +
	`for _acpterm_hook in precmd "${precmd_functions[@]}"; do ` +
	`if (( ${+functions[$_acpterm_hook]} )); then "$_acpterm_hook"; fi; done'; ` +
	`test -n "$FISH_VERSION" && emit fish_prompt; `

// attempts is how often a shell writes its environment: the second time counts if other output gets into the first.
const attempts = 2

// argument returns the text as an argument of -c.
func (d dumper) argument(enters bool) string {
	if enters {
		return enter + strings.Join(slices.Repeat([]string{d.command(hasEntered)}, attempts), "; ")
	}
	return strings.Join(slices.Repeat([]string{d.command("")}, attempts), "; ")
}

// input returns the text as standard input, for a shell that the start-up files execute. It has several lines, since
// start-up files may read some of them when they ask questions. The leading space keeps a line out of histories, and
// does not answer "y".
func (d dumper) input(enters bool) string {
	const pipeSize = 4096 // of a Linux user with very many pipes; other systems' are not smaller
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

// parse reads od's lines: each has an offset and up to 16 bytes. The last line has only the offset of the end.
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
