package main

// Run each row and each door once, for a moment, and check the promises of acpterm-mcp in the rows. With
// ACPTERM_TEST_MCP_PEERS=1, the servers of npm run, too.

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) {
	if !bench.Child(children()) {
		racetest.Main(m)
	}
}

// promised has the cells of acpterm-mcp, as expressions.
var promised = map[string]string{
	"5 MB of output: the answer": `^1\d kB: \d+ % of the lines, says “omitted_bytes \d+, lost_bytes \d+”$`,
	"5 MB of output: readable with all tools": "^80 % of the lines, \\d+ calls; " +
		"with `-keep 8388608` all lines, \\d+ calls$",
	"characters split across writes: U+FFFD instead":            `^0$`,
	"a long log: tokens (bytes / 4) for the model":              `^\d{4}$`,
	"the list of tools: tokens":                                 `^1[01]\d\d for 7 tools$`,
	"a background child holds the pipe: the call returns after": `^\S+ m?s$`,
	"kill of a tree with `setsid`: survivors of 6":              `^0, the reply after \S+ m?s$`,
	"kill of a shell whose child ignores signals":               `^the reply after \S+ s; all gone after \S+ s$`,
	"a call is cancelled: still running of 6":                   "^6, which can.*; with `kill_on_cancel` 0$",
	"SIGKILL to the server: survivors of 6":                     "^[0-6]; 0 after the next start$",
	"50 commands of 0.2 s at once":                              `^\S+ m?s, no errors$`,
	"memory: idle; after 5 MB; after 100 MB; the most":          `^([0-9.]+ MB(; |$)){4}`,
}

func TestRows(t *testing.T) {
	built, remove, err := build()
	require.NoError(t, err)
	t.Cleanup(remove)
	for _, s := range servers(built) {
		t.Run(strings.Fields(s.name)[0], func(t *testing.T) {
			if s.name != acptermName && os.Getenv("ACPTERM_TEST_MCP_PEERS") == "" {
				t.Skip("ACPTERM_TEST_MCP_PEERS is not set")
			}
			require.NoError(t, s.missing)
			for _, r := range rows() {
				t.Run(r.name, func(t *testing.T) {
					if s.name == acptermName {
						t.Parallel()
					}
					text, err := r.of(t.Context(), true, s)
					require.NoError(t, err)
					t.Log(text)
					if s.name == acptermName {
						require.Contains(t, promised, r.name)
						require.Regexp(t, promised[r.name], text)
					}
				})
			}
			t.Run(speedName, func(t *testing.T) { oneTurn(t, door{s.name, s.open}) })
		})
	}
}

func TestDoors(t *testing.T) {
	for _, d := range doors(nil) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			oneTurn(t, d)
		})
	}
}

func oneTurn(t *testing.T, d door) {
	t.Helper()
	var alone, together speed
	require.NoError(t, d.turn(t.Context(), true, &alone, &together))
	require.Regexp(t, regexp.MustCompile(`^\d+ /s \| \S+ .?s \| \S+ .?s$`), alone.String())
	require.Len(t, together.medians, 1)
}

// A row may not leave a process behind.
func TestMarkedProcessesAreKilled(t *testing.T) {
	built, remove, err := build()
	require.NoError(t, err)
	t.Cleanup(remove)
	mark := ""
	_, err = row{"", func(c *cellOf) (string, error) {
		mark = c.mark
		_, err := c.killed()
		return "", err
	}}.of(t.Context(), false, acptermServer(built))
	require.NoError(t, err)
	require.Empty(t, withMark(mark))
}

func TestParts(t *testing.T) {
	times := []time.Duration{5, 1, 4, 2, 3}
	require.Equal(t, time.Duration(3), part(times, 0.5))
	require.Equal(t, time.Duration(5), part(times, 0.99))
}

func TestIntactLines(t *testing.T) {
	w := written{lines: 3}
	whole := numberedLine(0) + numberedLine(1) + numberedLine(2)
	require.Len(t, numberedLine(1), lineSize)
	require.Equal(t, "all lines", w.share("Output:\n"+whole+"the end"))
	require.Equal(t, 2, w.intact(whole[:lineSize]+whole[lineSize+3:]))
	require.Equal(t, 2, w.intact(strings.Replace(whole, "é", "\uFFFD\uFFFD", 1)))
}
