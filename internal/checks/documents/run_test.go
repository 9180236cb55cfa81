//go:build unix

package documents

// Commands in documents are run if the line before their block says so. README.md's commands for a module beside a
// clone are run for each module.

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

// sh runs a block after the comment "run" in the repository's root, and must succeed. Lines that begin with "$ " are
// its commands. The other lines are their output, where "…" stands for any text and a line of "…" for any lines.
func TestDocumentRuns(t *testing.T) {
	pages.AtRoot(t)
	if testing.Short() {
		t.Skip("it builds and runs the examples")
	}
	t.Parallel()
	for _, doc := range pages.Documents(t) {
		for _, b := range doc.Blocks {
			if b.Comment != "run" {
				continue
			}
			t.Run(doc.Path, func(t *testing.T) {
				t.Parallel()
				runBlock(t, b)
			})
		}
	}
}

// README.md's commands for a module next to a clone work for each module of this repository that users import.
func TestModuleBesideAClone(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	readme := pages.Read(t, "README.md")
	at := slices.IndexFunc(readme.Blocks, func(b pages.Block) bool { return b.Comment == "in a module beside the clone" })
	require.NotEqual(t, -1, at)
	clone, err := os.Getwd()
	require.NoError(t, err)
	modules, err := exec.Command("go", "list", "-m").Output()
	require.NoError(t, err)
	list := append([]string{"list", "-e", "-find", "-f", "{{.Name}} {{.ImportPath}}"}, strings.Fields(string(modules))...)
	packages, err := exec.Command("go", list...).Output()
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	cache, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	where := strings.Fields(string(cache))
	env := append(os.Environ(), "GOPROXY=file://"+where[0]+"/cache/download,"+where[1], "GOWORK=off",
		"GOSUMDB=off") // the checksums are in this repository's go.sum files
	for line := range strings.Lines(string(packages)) {
		name, imported, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == "" || name == "main" || strings.Contains(imported, "/internal/") || strings.Contains(imported, "/examples") {
			continue // nothing to import
		}
		t.Run(path.Base(imported), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.Symlink(clone, filepath.Join(dir, "acpterm")))
			user := filepath.Join(dir, "user")
			require.NoError(t, os.Mkdir(user, 0o700))
			source := fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", imported)
			require.NoError(t, os.WriteFile(filepath.Join(user, "main.go"), []byte(source), 0o600))
			script := strings.Join(readme.Blocks[at].Lines, "\n")
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", "go mod init example.com/user\n"+script+"\ngo list -deps .")
			cmd.Dir, cmd.Env = user, env
			var stderr strings.Builder
			cmd.Stderr = &stderr
			output, err := cmd.Output()
			require.NoError(t, err, "%s", &stderr)
			require.Contains(t, strings.Fields(string(output)), imported)
		})
	}
}

func runBlock(t *testing.T, b pages.Block) {
	commands, want := readConsole(b)
	require.NotEmpty(t, commands, "line %d: no line begins with \"$ \"", b.Number)
	if _, err := exec.LookPath("jq"); err != nil && strings.Contains(commands, "jq ") {
		t.Skip("jq is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", commands)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // for mktemp
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(t, err, "line %d: %s", b.Number, stderr.String())
	require.Regexp(t, want, string(output), "line %d: %s", b.Number, stderr.String())
}

// readConsole returns the commands of a block, and an expression for their output.
func readConsole(b pages.Block) (commands string, want *regexp.Regexp) {
	expression := `(?m)\A`
	for _, l := range b.Lines {
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
