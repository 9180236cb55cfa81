package acpsdk

// Support for Options.AgentTerminals. The SDK's types for session/update lack the fields for the agent's terminals, so
// each update is read before the SDK reads it.

import (
	"encoding/json"
	"log/slog"

	"github.com/acpterm/acpterm/agentterm"
	acp "github.com/coder/acp-go-sdk"
)

// The updates of ACP v2 for terminals only.
const (
	terminalUpdate      = "terminal_update"
	terminalOutputChunk = "terminal_output_chunk"
)

// readUpdate passes the params of a session/update to agents. It reports whether the line must also go to the SDK. The
// SDK takes an unknown update for a session_info_update.
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
	json.Unmarshal(m.Params, &params) // the SDK refuses malformed params
	return params.Update.Kind != terminalUpdate && params.Update.Kind != terminalOutputChunk
}
