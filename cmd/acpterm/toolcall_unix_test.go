//go:build linux || darwin || freebsd

package main

// How often the states of a tool call are printed: its row changes on a terminal, and a pipe gets few lines.

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func init() {
	parts["agent-that-reports"] = func(args []string) { play(report(args[0], args[1], args[2:])) }
}

// report is a turn with a tool call in all its states, and a terminal in it, unless that is denied. Each state lasts until
// its file exists.
func report(title, goOn string, command []string) script {
	return func(a *scripted) string {
		state := func(fields map[string]any) {
			fields["sessionUpdate"], fields["toolCallId"] = "tool_call_update", "c"
			a.update(fields)
		}
		state(map[string]any{"title": title, "status": "pending"})
		awaitFile(goOn + ".asked")
		a.call("session/request_permission", map[string]any{
			"sessionId": "s", "toolCall": map[string]string{"toolCallId": "c"},
			"options": []map[string]string{{"optionId": "o", "name": "Run it", "kind": "allow_once"}},
		}, nil)
		awaitFile(goOn + ".begun")
		var ref acpterm.TerminalRequest
		if a.conn.Call(context.Background(), acpterm.MethodCreate, createParams("s", command...), &ref) != nil {
			state(map[string]any{"status": "failed"})
			return "end_turn"
		}
		ref.SessionID = "s"
		state(map[string]any{"status": "in_progress", "content": []any{
			map[string]any{"type": "terminal", "terminalId": ref.TerminalID},
		}})
		a.call(acpterm.MethodWaitForExit, ref, nil)
		state(map[string]any{"status": "failed"})
		a.say("that is all\n")
		return "end_turn"
	}
}

// called returns a title for a tool call that runs a command, as the client shows the command, and the command.
func called(name string, args ...string) (title string, command []string) {
	words := part(name, args...)
	words[0] = filepath.Base(words[0])
	return strings.Join(words, " "), part(name, args...)
}

func TestAToolCallHasOneRow(t *testing.T) {
	for name, other := range map[string]string{"the command": "", "another title": "Run the tests"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goOn, create := file(t)
			title, command := called("progress", "text", goOn)
			title = cmp.Or(other, title)
			w := openWindow(t, 120, 12, nil, append(part("agent-that-reports", title, goOn), command...), "-prompt", "x")
			row := `(?m)^\* ` + regexp.QuoteMeta(quoteStart(title))
			w.await(row + ` \(pending\)$`)
			require.NoError(t, os.WriteFile(goOn+".asked", nil, 0o600))
			w.await(row + `: allowed \("Run it"\)$`)
			require.NoError(t, os.WriteFile(goOn+".begun", nil, 0o600))
			if other != "" {
				w.await(row + ` \(in progress\) \[1\]$`)
			}
			w.await(`(?m)^\[1\] \| text +` + passed + `$`)
			create()
			text := "\n" + strings.Join(w.exit(exitTurnEnded), "\n")
			about := regexp.MustCompile(`\n(\*|\[1\] \$) .*`).FindAllString(text, -1)
			if other == "" {
				require.Len(t, about, 1, "the command, whose end has a line")
				return
			}
			require.Len(t, about, 2)
			require.Equal(t, "\n"+`* "Run the tests" (failed) [1]`, about[1])
		})
	}
}

func TestAToolCallHasTwoLinesInAPipe(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	create()
	for _, name := range []string{".asked", ".begun"} {
		require.NoError(t, os.WriteFile(goOn+name, nil, 0o600))
	}
	title, command := called("print", "text")
	for _, title := range []string{title, "Run the tests"} {
		c := startClient(t, append(part("agent-that-reports", title, goOn), command...), "-prompt", "x")
		c.exit(exitTurnEnded)
		about := regexp.MustCompile(`(?m)^(\*|\[1\] \$) .*`).FindAllString(c.stdout.String(), -1)
		require.Equal(t, `* `+quoteStart(title)+` (pending)`, about[0])
		require.Contains(t, about[1], "[1] $ ")
		if title == "Run the tests" {
			require.Equal(t, []string{`* "Run the tests" (failed) [1]`}, about[2:])
		} else {
			require.Len(t, about, 2)
		}
	}
}

// The line of a denial stands for the end of the tool call with the same command.
func TestADeniedToolCallHasTwoLinesInAPipe(t *testing.T) {
	t.Parallel()
	goOn, _ := file(t)
	for _, name := range []string{".asked", ".begun"} {
		require.NoError(t, os.WriteFile(goOn+name, nil, 0o600))
	}
	command := part("print", "text")
	for _, title := range []string{"`" + strings.Join(command, " ") + "`", "Run the tests"} {
		c := startClient(t, append(part("agent-that-reports", title, goOn), command...), "-allow", "go", "-prompt", "x")
		c.exit(exitTurnEnded)
		about := regexp.MustCompile(`(?m)^[*!] .*`).FindAllString(c.stdout.String(), -1)
		require.Equal(t, `* `+quoteStart(title)+` (pending)`, about[0])
		rest := slices.DeleteFunc(about[1:], func(line string) bool { return strings.HasPrefix(line, "! denied ") })
		require.Len(t, rest, len(about)-2)
		if title == "Run the tests" { // before or after the denial, which no update of the agent's waits for
			require.Equal(t, []string{`* "Run the tests" (failed)`}, rest)
		} else {
			require.Empty(t, rest)
		}
	}
}
