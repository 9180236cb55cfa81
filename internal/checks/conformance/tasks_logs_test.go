//go:build linux

package conformance

// The table of logs in BENCHMARKS.md: what a model reads if a command writes a long log and fails, in the agents' own
// shells and with acpterm-mcp. A log is a file and, after a colon, a regular expression for its lines about errors.
//
//	ACPTERM_TEST_AGENTS=1 ACPTERM_TEST_LOGS='/path/tsc.log:error TS
//	/path/pytest.log:^E  ' go test -v -run '^TestLogs$' ./internal/checks/conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// taskLog is a log, and the first line in it about an error.
type taskLog struct{ path, text, failure string }

// readLogs reads the logs, or skips the test.
func readLogs(t *testing.T) (logs []taskLog) {
	lines := os.Getenv("ACPTERM_TEST_LOGS")
	if lines == "" {
		t.Skip("ACPTERM_TEST_LOGS names no logs")
	}
	for line := range strings.Lines(lines) {
		path, expression, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		failure := regexp.MustCompile("(?m)^.*(?:" + expression + ").*").Find(text)
		require.NotEmpty(t, failure, "no line of %s matches %s", path, expression)
		logs = append(logs, taskLog{path, string(text), strings.TrimSpace(string(failure))})
	}
	return logs
}

// cell tells the tokens of a result, and whether it lacks the error.
func (l taskLog) cell(result string) string {
	if !strings.Contains(result, l.failure) {
		return fmt.Sprintf("%d, without", len(result)/4)
	}
	return fmt.Sprint(len(result) / 4)
}

func TestLogs(t *testing.T) {
	logs, place := readLogs(t), installAgents(t)
	columns, rows := []string{"", "whole"}, make([][]string, len(logs))
	for i, l := range logs {
		rows[i] = []string{filepath.Base(l.path), l.cell(l.text)}
	}
	for _, a := range agentPrograms {
		for _, w := range ways(a) {
			columns = append(columns, w.name+" in "+a.name)
			read := task{files: make(map[string]string), play: func(h hands, _ *actor) bool {
				for i, l := range logs {
					rows[i] = append(rows[i], l.cell(h.run("cat "+filepath.Base(l.path)+"; exit 1")))
				}
				return true
			}}
			for _, l := range logs { // in the project, because opencode asks before it reads other files
				read.files[filepath.Base(l.path)] = l.text
			}
			t.Run(a.name+"/"+w.name, func(t *testing.T) { require.True(t, a.play(t, place, w, read).solved) })
		}
	}
	table := "| " + strings.Join(columns, " | ") + " |\n" + strings.Repeat("|---", len(columns)) + "|"
	for _, row := range rows {
		table += "\n| " + strings.Join(row, " | ") + " |"
	}
	t.Log("\n" + table)
}
