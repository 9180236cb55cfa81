package acpsdk

// Options.AgentTerminals. The SDK's types for session/update have no place for what an agent says of its terminals, so
// each is read before the SDK reads it.

import (
	"encoding/json"
	"log/slog"

	"github.com/acpterm/acpterm/agentterm"
	acp "github.com/coder/acp-go-sdk"
)

// The updates of ACP v2 that are about terminals and nothing else.
const (
	terminalUpdate      = "terminal_update"
	terminalOutputChunk = "terminal_output_chunk"
)

// readUpdate reads a received line, and gives a session/update to the terminals. It reports whether the line is
// for the SDK too, which takes an update that it does not know for a session_info_update.
func readUpdate(agents *agentterm.Terminals, line []byte) (forSDK bool) {
	var m struct {
		ID     *json.RawMessage `json:"id"`
		Method string           `json:"method"`
		Params json.RawMessage  `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method != acp.ClientMethodSessionUpdate || m.ID != nil {
		return true
	}
	if _, err := agents.Update(m.Params); err != nil {
		slog.Warn("acpsdk: an agent's update of a terminal cannot be used", "error", err)
	}
	var params struct {
		Update struct {
			Kind string `json:"sessionUpdate"`
		} `json:"update"`
	}
	json.Unmarshal(m.Params, &params) // what cannot be read is the SDK's to refuse
	return params.Update.Kind != terminalUpdate && params.Update.Kind != terminalOutputChunk
}
