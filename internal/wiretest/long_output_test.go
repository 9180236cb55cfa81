package wiretest

// No answer to terminal/output is longer than 32 MiB, the longest line that the TypeScript SDK reads.

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/longtest"
)

func TestOutputFitsALine(t *testing.T) {
	const maxLine, kept = 32 << 20, 16 << 20
	for name, test := range map[string]struct {
		text   string
		head   int64
		by     string // the only way whose line would be too long, or empty
		headOK bool
		none   bool // the output is empty, because its limit is 0
	}{
		"plain":              {text: strings.Repeat("x", kept), head: 10, by: "none", headOK: true},
		"control characters": {text: strings.Repeat("é\x01", 13<<20/3), head: 10},
		"bytes for UTF-8":    {text: strings.Repeat("\x01\x01\xff", 7<<20/3)},
		"HTML":               {text: strings.Repeat("<", 6<<20), by: "Handle"},
		"a long head":        {text: strings.Repeat("\x01", 3<<20), head: 3 << 20},
		"only a long head":   {text: strings.Repeat("\x01", 6<<20), head: 6 << 20, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains([]string{"plain", "control characters", "only a long head"}, name) && !longtest.Is() {
				t.Skip("only in the long form")
			}
			commands := acptermtest.Commands{"flood": acptermtest.Print(test.text, 0)}
			m := acptermtest.NewManager(t, &acpterm.Options{Runner: commands})
			req := acpterm.CreateTerminalRequest{SessionID: "s", Command: "flood", OutputByteLimit: new(uint64(kept))}
			if test.none {
				req.OutputByteLimit = new(uint64(0))
			}
			if test.head > 0 {
				agent.AskForHead(&req, test.head)
			}
			term, err := m.Create(t.Context(), req, nil)
			require.NoError(t, err)
			_, err = term.Wait(t.Context())
			require.NoError(t, err)
			whole := term.Output()
			check := func(way string, line int, got acpterm.TerminalOutputResponse) {
				require.LessOrEqual(t, line, maxLine, way)
				require.Equal(t, whole.ExitStatus, got.ExitStatus)
				require.True(t, strings.HasSuffix(whole.Output, got.Output), way)
				require.Equal(t, whole.Truncated || len(got.Output) < len(whole.Output), got.Truncated, way)
				if test.by == "" && test.head <= 10 || test.by == way {
					require.Less(t, len(got.Output), len(whole.Output))
					require.Greater(t, line, maxLine-8<<10, "as much as fits")
				} else {
					require.Equal(t, len(whole.Output), len(got.Output), way)
				}
				require.Equal(t, test.headOK, agent.ReadHead(got) != nil, way)
			}

			params, err := json.Marshal(hosttest.Of(term.ID()))
			require.NoError(t, err)
			result, err := acpterm.NewHandler(m, nil).Dispatch(t.Context(), acpterm.MethodOutput, params)
			require.NoError(t, err)
			encoded, err := json.Marshal(result)
			require.NoError(t, err)
			check("Handle", len(encoded), result.(acpterm.TerminalOutputResponse))

			ask := func(way string, serve func(*acpterm.Handler, io.ReadWriteCloser), times int) {
				client, agentEnd := hosttest.PipePair(t)
				defer agentEnd.Close()
				serve(acpterm.NewHandler(m, nil), client)
				reader := bufio.NewReader(agentEnd)
				for range times {
					_, err := io.WriteString(agentEnd, hosttest.Request("1", acpterm.MethodOutput, hosttest.Of(term.ID()))+"\n")
					require.NoError(t, err)
					line, err := reader.ReadBytes('\n')
					require.NoError(t, err)
					var got struct {
						Result acpterm.TerminalOutputResponse
					}
					require.NoError(t, json.Unmarshal(line, &got))
					check(way, len(line), got.Result)
				}
			}
			ask("Filter", func(h *acpterm.Handler, conn io.ReadWriteCloser) {
				go io.Copy(io.Discard, h.Filter(t.Context(), conn))
			}, 2)
			if name == "HTML" { // it has the result of Dispatch, but takes long
				ask("Handle", func(h *acpterm.Handler, conn io.ReadWriteCloser) {
					jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(conn), h)
				}, 1)
			}
		})
	}
}
