//go:build unix

package acpterm_test

// Commands in documents are run where the line before their block says so. Other statements are held against the go
// command.

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A block after the comment "run" is run by sh in the repository's root, and has to succeed. Lines that begin with "$ "
// are its commands, and the others are what these print, where "…" stands for any text and a line of "…" for any lines.
func TestDocumentRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs the examples")
	}
	for _, doc := range documents(t) {
		for _, b := range doc.blocks {
			if b.comment != "run" {
				continue
			}
			t.Run(doc.path, func(t *testing.T) { runBlock(t, b) })
		}
	}
}

// docs/architecture.md says that the root needs package net on Windows only.
func TestTheRootDoesNotImportNet(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "freebsd"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
		list.Env = append(list.Environ(), "GOOS="+system)
		out, err := list.Output()
		require.NoError(t, err)
		packages := strings.Fields(string(out))
		require.Contains(t, packages, "github.com/acpterm/acpterm/internal/wire")
		require.False(t, slices.Contains(packages, "net"), system)
	}
}

func runBlock(t *testing.T, b block) {
	commands, want := readConsole(b)
	require.NotEmpty(t, commands, "line %d: no line begins with \"$ \"", b.number)
	if _, err := exec.LookPath("jq"); err != nil && strings.Contains(commands, "jq ") {
		t.Skip("jq is not installed")
	}
	t.Setenv("TMPDIR", t.TempDir()) // for mktemp
	cmd := exec.CommandContext(t.Context(), "sh", "-c", commands)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(t, err, "line %d: %s", b.number, stderr.String())
	require.Regexp(t, want, string(output), "line %d: %s", b.number, stderr.String())
}

// readConsole returns the commands of a block, and an expression for what they print.
func readConsole(b block) (commands string, want *regexp.Regexp) {
	expression := `(?m)\A`
	for _, l := range b.lines {
		switch command, isCommand := strings.CutPrefix(l, "$ "); {
		case isCommand:
			commands += command + "\n"
		case l == "…":
			expression += `(?s:.*)`
		default:
			expression += strings.ReplaceAll(regexp.QuoteMeta(l), "…", ".*") + `\n`
		}
	}
	return commands, regexp.MustCompile(expression + `\z`)
}
