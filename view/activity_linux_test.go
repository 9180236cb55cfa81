package view_test

import (
	"fmt"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// Rows say what a command does while a page shows its output, and not longer.
func TestRowsSayThatACommandWaits(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{PTY: &acpterm.PTYOptions{}}})
	v := newViewer(t, m, view.Options{})
	const line = "read x; exec sleep 1000"
	terminal := v.create("s", "sh", "-c", line)
	events, rows := v.open("events", ""), make(map[string]tableRow)
	has := func(activity string) func(map[string]tableRow) bool {
		return func(rows map[string]tableRow) bool {
			return len(rows) == 1 && rows[line].Activity == activity
		}
	}
	events.table(rows, has(""))
	first, second := v.open(output(terminal), ""), v.open(output(terminal), "")
	is := func(activity string) func(tableRow) bool {
		return func(r tableRow) bool { return r.Activity == activity }
	}
	first.until(is("input"))
	second.until(is("input"))
	events.table(rows, has("input"))
	second.close()
	fmt.Fprintln(terminal)
	first.until(is("idle"))
	first.close()
	events.table(rows, has(""))
}
