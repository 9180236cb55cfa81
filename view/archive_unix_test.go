//go:build linux || darwin || freebsd

package view_test

// The screen of a PTY of an earlier run.

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/archive"
	"github.com/acpterm/acpterm/view"
)

func TestAPTYOfAnEarlierRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	archiveRun(t, dir, archive.Options{}, acpterm.Options{}, func(v *viewer) {
		r := acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c", `printf '10%%\r100%%\n\033[31mred\033[m\n'`}}
		terminal, err := v.Create(t.Context(), r, &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 60, Rows: 7}})
		require.NoError(t, err)
		ended(t, terminal)
		for range terminal.Follow(t.Context(), 0) { // to the end
		}
	})
	v := newLater(t, dir, acptermtest.NewManager(t, nil), view.Options{Input: true})
	rows := v.rows()
	require.Len(t, rows, 1)
	require.True(t, rows[0].PTY && !rows[0].Input)
	require.Equal(t, []int{60, 7}, []int{rows[0].Columns, rows[0].Rows})
	path := "terminals/" + rows[0].Key
	require.Equal(t, "100%\nred", strings.TrimSpace(v.text(path+"/text", 200)))
	raw, _, end := v.open(path+"/output", "").text(nil)
	require.Contains(t, raw, "\x1b[31mred")
	require.True(t, end)
	v.text(path+"/times", 404)
	require.Equal(t, []match{{Key: rows[0].Key, Text: "red", Count: 1}}, v.find("RED"))
}
