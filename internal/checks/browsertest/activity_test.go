package browsertest

// What the page says of a command's processes: they wait for input, listen on a port, or were idle for too long.

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
)

// The page says that a command waits for input, also to screen readers, with its question, and links to the port that it
// listens on.
func testWaiting(t *testing.T, b visitor) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	y := serveTyping(t, nil)
	terminal := y.sh(t, `exec python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
input("? ")
s.close()
input()'`)
	p := b.visit(t, y.url)
	p.until(`part('.numbers')?.innerText.includes('waits for input') && !!part('.numbers a')`)
	p.until(`part('.said').textContent.endsWith('Waits for input: ?')`)
	processes, err := terminal.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, processes, 1)
	require.Len(t, processes[0].Listening, 1)
	link := fmt.Sprintf("http://localhost:%d", processes[0].Listening[0].Port())
	require.Equal(t, link+"/", eval[string](p, `part('.numbers a').href`))
	require.Equal(t, link, eval[string](p, `part('.numbers a').textContent`))
	fmt.Fprintln(terminal)
	p.until(`!part('.numbers a')`)
	p.requireQuiet()
}

// A port of another machine is text: a link would lead to a server on the user's.
func testRemotePort(t *testing.T, b *browser) {
	commands := acptermtest.Commands{"serve": acptermtest.Block}
	v := serve(t, acptermtest.NewManager(t, &acpterm.Options{Runner: elsewhere{commands}}), nil)
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "serve"}, nil)
	require.NoError(t, err)
	p := b.open(t, v.only(terminal))
	p.until(`part('.numbers').innerText.includes('127.0.0.1:5173')`)
	require.Zero(t, eval[int](p, `el.shadowRoot.querySelectorAll('.numbers a').length`))
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

// The state of a command that was ended because it was idle says for how long. The link to a server that a command has
// left stays while the server listens.
func testIdleAndLeft(t *testing.T, b visitor) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are listed on Linux")
	}
	v := serve(t, acptermtest.NewManager(t, nil), nil)
	visit := func(line string, o *acpterm.CommandOptions) tab {
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: line}, o)
		require.NoError(t, err)
		return b.visit(t, v.only(terminal))
	}
	p := visit("sleep 1000; true", &acpterm.CommandOptions{IdleTimeout: 200 * time.Millisecond})
	p.until(`part('.state').textContent === 'idle for 0.2 s, signal SIGTERM'`)
	require.Equal(t, "bad", eval[string](p, `el.shadowRoot.querySelector('[data-tone]').dataset.tone`))
	p.requireQuiet()
	p.end()
	p = visit(strings.Join(children.Args("listen"), " ")+" >/dev/null 2>&1 &", nil)
	p.until(`part('.state').textContent === 'done' && !!part('.numbers a')`)
	connection, err := net.Dial("tcp", strings.TrimPrefix(eval[string](p, `part('.numbers a').textContent`), "http://"))
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	p.until(`!part('.numbers a') && el.row.ended`)
	p.requireQuiet()
}
