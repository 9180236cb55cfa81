package view_test

// The request that moves a command to the background.

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

func TestMoveToBackground(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"serve": acptermtest.Block}})
	v := newViewer(t, m, view.Options{AllowStop: true})
	terminal := v.create("s", "serve")
	move := func(v *viewer, key string, headers ...string) int {
		return v.request("POST", "terminals/"+key+"/background", func(r *http.Request) {
			for _, header := range headers {
				r.Header.Set(header, "background")
			}
		}).StatusCode
	}
	moved := terminal.Backgrounded()
	require.Equal(t, http.StatusForbidden, move(v, keyOf(terminal)))
	readOnly := newViewer(t, m, view.Options{})
	require.Equal(t, http.StatusForbidden, move(readOnly, keyOf(terminal), "Acp-Terminal"))
	require.Equal(t, http.StatusNotFound, move(v, "term_none", "Acp-Terminal"))
	a := viewtest.NewAgent(t, m, agentterm.Options{})
	own := a.Update("s", "t1", members{"command": "npm test"})
	require.Equal(t, http.StatusConflict, move(v, keyOf(own), "Acp-Terminal"))
	require.False(t, terminal.Info().Backgrounded, "all were refused")

	s := v.open(output(terminal), "")
	require.False(t, s.row(func(r tableRow) bool { return r.State == "running" }).Background)
	require.Equal(t, http.StatusNoContent, move(v, keyOf(terminal), "Acp-Terminal"))
	<-moved
	require.True(t, s.row(func(r tableRow) bool { return r.Background }).CanStop)
	require.NoError(t, terminal.Kill(t.Context()))
	require.Equal(t, http.StatusConflict, move(v, keyOf(terminal), "Acp-Terminal"))
	require.False(t, s.row(func(r tableRow) bool { return r.Ended != 0 }).Background)
}
