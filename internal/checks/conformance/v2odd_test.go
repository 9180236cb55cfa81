package conformance

// Messages that the schema forbids, or allows although they are unusual. acpterm must reach the same state as the SDK's
// client, with the exceptions in ownReading.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/stretchr/testify/require"
)

// begin has a value for every field of a terminal.
const begin = `{"sessionUpdate":"terminal_update","terminalId":"T","command":"make","cwd":"/w",` +
	`"output":{"data":"YWJj"},"size":{"cols":80,"rows":24},"capabilities":{"cancel":{}},"_meta":{"a":1}}`

// oddUpdates are members of a terminal_update, and whole updates, for the terminal "T" created by begin.
var oddUpdates = []string{
	`"x":1`, `"command":7`, `"command":""`, `"command":{}`, `"command":"first","command":"last"`, `"command":"\ud800"`,
	`"command":"a\u0000b"`, `"cwd":[]`, `"cwd":"relative"`, `"cwd":"\\\\server\\share"`,

	`"output":7`, `"output":{}`, `"output":{"data":null}`, `"output":{"data":7}`, `"output":[]`, `"output":{"data":""}`,
	`"output":{"data":"YQ==\n"}`, `"output":{"data":"YWJjZA==","_meta":7}`, `"output":7,"exitStatus":{"exitCode":1}`,
	`"output":{"data":"YQ=="},"output":null`,

	`"size":7`, `"size":[]`, `"size":{}`, `"size":{"cols":0,"rows":1}`, `"size":{"cols":65535,"rows":1}`,
	`"size":{"cols":65536,"rows":1}`, `"size":{"cols":1}`, `"size":{"cols":null,"rows":1}`, `"size":{"cols":1.5,"rows":1}`,
	`"size":{"cols":-1,"rows":1}`, `"size":{"cols":132.0,"rows":1e1}`, `"size":{"cols":"1","rows":1}`,
	`"size":{"cols":1,"rows":2,"_meta":7,"depth":3}`, `"size":{"cols":1,"rows":2,"Rows":3}`,

	`"capabilities":{}`, `"capabilities":{"x":1}`, `"capabilities":{"cancel":true}`, `"capabilities":{"cancel":[]}`,
	`"capabilities":{"cancel":{"x":1}}`, `"capabilities":{"cancel":{"_meta":7}}`, `"capabilities":{"cancel":{},"_meta":7}`,
	`"capabilities":{"cancel":{},"Cancel":null}`, `"capabilities":{"Cancel":{}}`,

	`"_meta":7`, `"_meta":[]`, `"_meta":"x"`, `"_meta":{}`, `"_meta":{"b":{}}`, `"_meta":{"a":null,"c":null}`,
	`"_meta":{"":1,"b":[null]}`,

	`"exitStatus":7`, `"exitStatus":"x"`, `"exitStatus":[]`, `"exitStatus":{"exitCode":"1"}`,
	`"exitStatus":{"exitCode":1.5,"signal":3}`, `"exitStatus":{"exitCode":3.0}`, `"exitStatus":{"exitCode":1e2}`,
	`"exitStatus":{"exitCode":-0}`, `"exitStatus":{"exitCode":1,"_meta":7}`,
	`"exitStatus":{"exitCode":true,"signal":"SIGINT"}`, `"exitStatus":{"ExitCode":1}`, `"exitStatus":{"exitCode":1,"x":{}}`,

	`"Command":"x","CWD":"x","Output":null,"Size":null,"Capabilities":null,"exitstatus":{}`,

	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":""}`,
	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":"YQ==","_meta":{"a":2}}`,
	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":"YQ==","_meta":7,"command":null}`,
	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":"%%%"}`,
	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":7}`,
	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":null}`,
	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T"}`,
	`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","DATA":"YQ=="}`,
	`{"sessionUpdate":"terminal_output_chunk","TerminalID":"T","data":"YQ=="}`,

	`{"sessionUpdate":"terminal_resized","terminalId":"T","size":null}`,
	`{"sessionUpdate":"_terminal_update","terminalId":"T","command":null}`,
	`{"sessionUpdate":"Terminal_Update","terminalId":"T","command":null}`,
	`{"sessionUpdate":["terminal_update"],"terminalId":"T","command":null}`,
	`{"sessionUpdate":"terminal_update","terminalId":["T"],"command":null}`,
	`{"sessionUpdate":"tool_call_update","toolCallId":"T","status":"failed","title":"x"}`,
	`{"sessionUpdate":"tool_call_update","toolCallId":"T","_meta":{"terminal_exit":{"terminal_id":"T","exit_code":1}}}`,
	`{"sessionUpdate":"tool_call","toolCallId":"T","title":"x","_meta":{"terminal_output":{"terminal_id":"T","data":"x"}}}`,
}

// ownReading maps the odd updates that acpterm reads differently from the SDK with Node.js to acpterm's reading.
func ownReading(unchanged held) map[string]func(held) held {
	refused := func(held) held { return unchanged }
	notCancellable := func(h held) held {
		h.Cancellable = false
		return h
	}
	noSignal := func(h held) held {
		status := *h.ExitStatus
		status.Signal = nil
		h.ExitStatus = &status
		return h
	}
	return map[string]func(held) held{
		// The SDK keeps any text as the signal. It could steer the user's terminal, so only names count.
		`"exitStatus":{"signal":""}`:                        noSignal,
		`"exitStatus":{"signal":"X\u001b[2J"}`:              noSignal,
		`"exitStatus":{"exitCode":1,"signal":"not a name"}`: noSignal,
		// The SDK does not check base64, and Node.js accepts anything. RFC 4648 requires the alphabet and the padding.
		`"output":{"data":"%%%"},"command":"after"`:                                     refused,
		`"output":{"data":"YQ"}`:                                                        refused,
		`"output":{"data":"-_-_"}`:                                                      refused,
		`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":"YQ"}`:        refused,
		`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":"-_-_"}`:      refused,
		`{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":" Y Q = = "}`: refused,
		// The SDK keeps the advertised value; the schema says "a malformed value falls back to no controls".
		`"capabilities":7`:      notCancellable,
		`"capabilities":"none"`: notCancellable,
		`"capabilities":[]`:     notCancellable,
	}
}

func TestOddUpdates(t *testing.T) {
	requireTypeScript(t, "v2client.mjs")
	m := must(acpterm.NewManager(nil))
	h := acpterm.NewHandler(m, nil)
	terminals := agentterm.New(h, &agentterm.Options{
		Cancel: func(context.Context, acpterm.TerminalRequest) error { return nil },
	})
	defer func() {
		require.NoError(t, h.Close())
		require.NoError(t, m.Close())
	}()
	all := slices.Concat(oddUpdates, slices.Sorted(maps.Keys(ownReading(held{}))))
	var lines strings.Builder
	for n, update := range all {
		if !strings.HasPrefix(update, "{") {
			update = `{"sessionUpdate":"terminal_update","terminalId":"T",` + update + `}`
		}
		for _, update := range []string{begin, update} {
			update = strings.ReplaceAll(update, `"T"`, strconv.Quote(oddID(n)))
			fmt.Fprintln(&lines, update)
			terminals.Update(json.RawMessage(`{"sessionId":"s1","update":` + update + `}`))
		}
	}
	require.Len(t, m.Terminals(), len(all))

	file := filepath.Join(t.TempDir(), "updates")
	require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	report, _ := runV2Client(t, file, true) // the SDK complains about the updates it drops
	require.Len(t, report.Held, len(all))
	own := ownReading(report.Held[acpterm.TerminalID(oddID(0))])
	for n, update := range all {
		id := acpterm.TerminalID(oddID(n))
		want, term := report.Held[id], must(m.Terminal("s1", id))
		if read := own[update]; read != nil {
			require.NotEqual(t, read(want), want, "the readings do not differ: %s", update)
			want = read(want)
		}
		requireHeld(t, want, term.Info(), term.Output().Output, update)
	}
}

func oddID(n int) string { return fmt.Sprintf("t%d", n) }
