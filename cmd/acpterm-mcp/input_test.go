//go:build unix

package main

// -pty: the verdict on commands that the agent types into.

import (
	"context"
	"regexp"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestVerdictOnInput(t *testing.T) {
	answer, asked := "accept", 0
	client := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: answer, Content: object{"answer": "allow_session"}}, nil
		},
	}
	cat := object{"command": "cat", "args": []string{"-u"}, "pty": true, "wait_ms": 0}
	for _, c := range []struct {
		arguments []string
		answer    string
		asked     int
		runs      bool
	}{
		{[]string{"-allow", "cat ..."}, "accept", 1, true}, // once for the session
		{[]string{"-allow", "cat ..."}, "decline", 2, false},
		{[]string{"-allow", "cat ...", "-pty", "allow"}, "decline", 0, true},
		{[]string{"-allow", "cat ...", "-pty", "deny"}, "accept", 0, false},
		{[]string{"-allow", "seq ...", "-others", "deny", "-pty", "allow"}, "accept", 0, false},
		{[]string{"-others", "allow"}, "decline", 0, true},
		{[]string{"-others", "allow", "-deny", "rm ..."}, "decline", 2, false},
		{[]string{"-others", "allow", "-pty", "deny"}, "accept", 0, false},
	} {
		asked, answer = 0, c.answer
		s, _ := connectTo(t, client, append(c.arguments, "-root", t.TempDir())...)
		for range 2 {
			text, ok := call(t, s, "run", cat)
			require.Equal(t, c.runs, ok, "%v %s", c.arguments, text)
		}
		require.Equal(t, c.asked, asked, c.arguments)
	}
	s, _ := connectTo(t, nil, "-allow", "cat ...", "-pty", "allow", "-root", t.TempDir())
	text, ok := call(t, s, "run", cat)
	require.True(t, ok, text)
	id := regexp.MustCompile(`\[(\w+) `).FindStringSubmatch(text)[1]
	text, ok = call(t, s, "write", object{"id": id, "text": "hello\n", "wait_ms": 60_000})
	require.True(t, ok, text)
	require.Contains(t, text, "hello")
}

func TestAlwaysDoesNotIncludeInput(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	user := &asker{answer: "allow_always"}
	s, _ := connectTo(t, user.options(), "-root", t.TempDir(), "-allow", "tr", "-ask", "cat ...")
	cat := object{"command": "cat", "args": []string{"/dev/null"}}
	require.True(t, user.asks(t, s, cat))
	require.False(t, user.asks(t, s, cat))
	cat["pty"] = true
	require.True(t, user.asks(t, s, cat))
	require.Contains(t, user.questions[0], "typed into")
	require.False(t, user.asks(t, s, cat))
	tr := object{"command": "tr", "args": []string{}, "pty": true}
	require.True(t, user.asks(t, s, tr)) // although a rule allows it
	require.False(t, user.asks(t, s, tr))
}
