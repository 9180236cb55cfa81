//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The instructions and each denial list the rules, without programs that do not exist, and the denial names the program
// of a line.
func TestTheModelIsToldTheRules(t *testing.T) {
	file := ruleFile(t, `{"rules":[{"name":"x","verdict":"allow","program":"no-such-program"},
		{"name":"y","verdict":"allow","program":"tr","args":[]}]}`)
	s, _ := connectTo(t, nil, "-root", t.TempDir(), "-rules", file, "-allow", "seq", "-allow", "tr -d ...",
		"-deny", "seq 9 ...")
	const list = "These commands run without a question: tr (-d ..., without arguments), seq. " +
		"These are denied: seq (9 ...). All other commands need the user's approval."
	require.Contains(t, s.InitializeResult().Instructions, list)
	for line, reason := range map[string]string{
		"seq 3 | wc -l && seq 4": `no rule allows "wc -l"; approval is required, and the MCP client cannot ask for it`,
		"seq 3 | wc $HOME":       `no rule allows "wc $HOME", with arguments that are known only when it runs; approval`,
		"echo a && seq 9 9":      `the rule is for "seq 9 9" (rule "seq 9 ...")`,
	} {
		text, ok := runLine(t, s, line)
		require.False(t, ok, text)
		require.Contains(t, text, reason)
		require.Contains(t, text, list)
	}
	s, _ = connectTo(t, nil, "-root", t.TempDir(), "-others", "deny", "-allow", "seq")
	text, ok := runLine(t, s, "seq 3 | wc -l && seq 4")
	require.False(t, ok, text)
	require.Contains(t, text, `no rule allows "wc -l" (rule "default")`)
	s, _ = connectTo(t, nil, "-root", t.TempDir(), "-others", "allow")
	require.NotContains(t, s.InitializeResult().Instructions, "commands run without")
	s, _ = connectTo(t, nil, "-root", t.TempDir(), "-rules", ruleFile(t, `{"default":"allow","shellLines":"deny"}`))
	require.Contains(t, s.InitializeResult().Instructions,
		"All other commands run without a question. All shell lines are denied: pass args.")
}

func TestTheListIsBounded(t *testing.T) {
	arguments := []string{"-root", t.TempDir()}
	for range 1000 {
		arguments = append(arguments, "-allow", "seq "+strings.Repeat("9", 100), "-deny", "no-such ...")
	}
	s, _ := connectTo(t, nil, append(arguments, "-deny", "tr", "-deny", "wc")...)
	require.Less(t, len(s.InitializeResult().Instructions), 4000)
	require.Contains(t, s.InitializeResult().Instructions, "These are denied: tr, wc.")
}
