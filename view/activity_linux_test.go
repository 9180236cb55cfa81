package view_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/archive"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
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

// The link to a server that a command has left stays until the server does not listen any more.
func TestRowsLinkToWhatACommandHasLeft(t *testing.T) {
	v := newViewer(t, acptermtest.NewManager(t, nil), view.Options{})
	terminal := v.create("s", "sh", "-c", strings.Join(children.Args("listen"), " ")+" >/dev/null 2>&1 &")
	<-terminal.Done()
	first, second := v.open(output(terminal), ""), v.open(output(terminal), "")
	link := ""
	for _, s := range []*stream{first, second} {
		s.until(func(r tableRow) bool {
			link = r.Listening
			return r.Ended != 0 && link != ""
		})
	}
	connection, err := net.Dial("tcp", strings.TrimPrefix(link, "http://"))
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	for _, s := range []*stream{first, second} {
		s.until(func(r tableRow) bool { return r.Ended != 0 && r.Listening == "" })
		_, _, ended := s.text(nil)
		require.True(t, ended)
	}
}

// elsewhere runs commands on another machine, where each listens on a port.
type elsewhere struct{ acptermtest.Commands }

func (e elsewhere) Start(ctx context.Context, r acpterm.StartRequest) (acpterm.Process, error) {
	p, err := e.Commands.Start(ctx, r)
	return listening{p}, err
}

type listening struct{ acpterm.Process }

func (listening) Processes(context.Context) ([]acpterm.ProcessInfo, error) {
	return []acpterm.ProcessInfo{{PID: 1, Listening: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:5173")}}}, nil
}

// A port of another machine is no link, since it would lead to a server on the user's.
func TestRowsDoNotLinkToAnotherMachine(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: elsewhere{acptermtest.Commands{"serve": acptermtest.Block}}})
	v := newViewer(t, m, view.Options{})
	v.open(output(v.create("s", "serve")), "").until(func(r tableRow) bool { return r.Listening == "127.0.0.1:5173" })
}

// Rows say for how long a command was idle before it was ended for that, also after a restart.
func TestRowsOfIdleCommands(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	limited := acpterm.Options{Commands: acpterm.CommandOptions{IdleTimeout: 200 * time.Millisecond}}
	idle := func(r tableRow) bool { return r.State == "idle" && r.Idle == 200 && r.Status == "signal SIGTERM" }
	archiveRun(t, dir, archive.Options{}, limited, func(v *viewer) { ended(t, v.create("s", "sleep", "1000")) })
	v := newLater(t, dir, acptermtest.NewManager(t, &limited), view.Options{})
	v.open(output(v.create("s", "sleep", "1000")), "").until(idle)
	rows := v.rows()
	require.True(t, rows[0].Earlier && !rows[1].Earlier)
	require.True(t, idle(rows[0]) && idle(rows[1]), rows)
}
