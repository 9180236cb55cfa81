package wiretest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// An error quotes the agent's request, but not all of it: an answer that the agent does not read stays in memory.
func TestAnErrorOnTheWireIsShort(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	response := acpterm.ResponseError(&acpterm.Error{
		Op: long, Kind: acpterm.ErrCommandNotFound, Field: long, Reason: long, Rule: long, Command: long,
		SessionID: acpterm.SessionID(long), TerminalID: acpterm.TerminalID(long),
	})
	encoded, err := json.Marshal(response)
	require.NoError(t, err)
	require.Less(t, len(encoded), 20<<10)
	require.True(t, utf8.Valid(encoded))
	require.Contains(t, response.Message, "éé")
	var data struct{ Command string }
	require.NoError(t, json.Unmarshal(*response.Data, &data))
	require.Equal(t, long[:2<<10]+"...", data.Command)
}
