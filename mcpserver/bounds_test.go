//go:build unix

package mcpserver

// Clients that send too much, or do not read.

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

func TestClientThatDoesNotReadCannotKeepTheSession(t *testing.T) {
	m := acptermtest.NewManager(t, quick())
	s := New(m, nil)
	near, far := net.Pipe()
	defer near.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Run(ctx, &mcp.IOTransport{Reader: far, Writer: far}) }()
	_, err := io.WriteString(near, initializeRequest+"\n")
	require.NoError(t, err)
	_, err = near.Read(make([]byte, 4096)) // the reply
	require.NoError(t, err)
	_, err = io.WriteString(near, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run",`+
		`"_meta":{"progressToken":1},"arguments":{"command":"echo up; sleep 1000"}}}`+"\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(m.Terminals()) == 1 }, time.Minute, time.Millisecond)
	terminal := m.Terminals()[0]
	for c := range terminal.Follow(t.Context(), 0) {
		require.Equal(t, "up\n", c.Text)
		break
	}
	_, err = near.Read(make([]byte, 1)) // of a notification; the rest stays in the write
	require.NoError(t, err)
	cancel()
	<-terminal.Released()
	require.ErrorIs(t, <-served, context.Canceled)
	_, err = io.Copy(io.Discard, near) // ends, because Run has closed its side
	require.NoError(t, err)
}

func TestPendingCallsAreBounded(t *testing.T) {
	s := connect(t, newServer(t, quick(), nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": "sleep 1000", "wait_ms": 0})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make(chan *mcp.CallToolResult, 2*maxCalls)
	for range maxCalls + 10 {
		go func() {
			result, err := s.CallTool(ctx, &mcp.CallToolParams{
				Name: "wait", Arguments: object{"id": r.ID, "wait_ms": 600_000},
			})
			if err == nil {
				results <- result
			}
		}()
	}
	for range 10 {
		result := <-results
		require.True(t, result.IsError)
		require.Contains(t, textOf(result), "more than 256 calls are pending")
	}
	_, err := s.ListTools(t.Context(), nil)
	require.ErrorContains(t, err, "more than 256 calls")
	cancel()
	require.Eventually(t, func() bool {
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list"})
		return err == nil && !result.IsError
	}, time.Minute, 10*time.Millisecond)
}

func TestLongArgumentsAreRefused(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	require.Contains(t, fails(t, s, "run", object{"command": strings.Repeat("x", maxArguments)}), "longer than")
}

// Small values take much more memory than their text, so their number is limited, too.
func TestArgumentsOfManyValuesAreRefused(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	for _, many := range []string{
		strings.Repeat("[", 900) + strings.Repeat("[],", maxValues) + "[]" + strings.Repeat("]", 900),
		`[{}` + strings.Repeat(`,{"a":0}`, maxValues/2) + `]`,
		"[0" + strings.Repeat(",0", maxValues) + "]",
	} {
		arguments := json.RawMessage(`{"command":"true","args":` + many + `}`)
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: arguments})
		require.NoError(t, err)
		require.True(t, result.IsError)
		require.Contains(t, textOf(result), "more than 10000 values")
	}
	quoted := strings.Repeat(`[,{\"`, maxValues)
	r, _ := call[commandResult](t, s, "run", object{"command": "printf", "args": []string{"%.6s", quoted}})
	require.Equal(t, quoted[:6], r.Output)
}

func TestUnansweredQuestionsAreBounded(t *testing.T) {
	options := answers(nil)
	options.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	s := connect(t, newServer(t, asking(), nil), options)
	for i := range maxQuestions {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: object{"command": "true"}})
		require.NoError(t, err)
		require.NotEmpty(t, r.InputRequests, i)
	}
	require.Contains(t, fails(t, s, "run", object{"command": "true"}), "questions")
}

// FuzzExcerpt reads random output in every way.
func FuzzExcerpt(f *testing.F) {
	f.Add("a\nb\r\nc\x1b[1mred\x1b[m\xff\xe2\x82", 0, 1)
	f.Add(strings.Repeat("long ", 2000)+"\x1bP hidden"+strings.Repeat("\n", 2000), 17, 7)
	f.Add(strings.Repeat("€", 5000)+"\r\b\b", -5, 40)
	f.Add("\xff\xfe\n"+strings.Repeat("lost\n", 200), 0, 1)
	f.Fuzz(func(t *testing.T, output string, offset, size int) {
		options := acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Print(output, 0)}}
		if size%2 != 0 { // lose something
			options.Commands = acpterm.CommandOptions{OutputByteLimit: 300, FollowBytes: 300}
		}
		m, err := acpterm.NewManager(&options)
		require.NoError(t, err)
		defer m.Close()
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: "x", Meta: acpterm.Meta{limitsName: []byte(`{"headBytes":100}`)},
		}, nil)
		require.NoError(t, err)
		<-terminal.Done()
		limit := minText + max(size, -size)%minText
		for _, part := range []show{showEnds, showStart, showEnd} {
			e := readOutput(terminal, int64(offset), limit, part, nil)
			require.True(t, utf8.ValidString(e.text))
			require.False(t, strings.ContainsFunc(e.text, isDropped), "%q", e.text)
			require.LessOrEqual(t, len(e.text), limit+200)
			require.True(t, 0 <= e.offset && e.offset <= e.next && e.next <= int64(len(output)))
			require.True(t, 0 <= e.omitted && e.omitted+e.lost <= e.next-e.offset)
			require.True(t, e.more == (e.next < int64(len(output))))
			require.True(t, part == showStart || !e.more)
		}
		for at := int64(0); ; {
			e := readOutput(terminal, at, limit, showStart, nil)
			require.Zero(t, e.omitted)
			if at = e.next; !e.more {
				break
			}
			require.Greater(t, at, e.offset)
		}
	})
}

func TestUnfinishedEscapeSequenceIsMarked(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": `printf 'before\033Phidden\n'; seq 1 1000`})
	require.Regexp(t, `^before\n?\[… \d+ bytes of escape sequences …\]\n$`, r.Output)
}
