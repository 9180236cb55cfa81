package screenreader

import (
	"context"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

// question waits for an answer.
const question = `printf 'Delete? [y/N] '; read answer; exit 3`

// A user who sees nothing goes to each element by Tab, chooses commands, and hears their states, why, what they ask, their
// ends and errors, and that the connection is lost, but no output without asking for it.
func TestOrca(t *testing.T) {
	if os.Getenv("ACPTERM_TEST_ORCA") == "" {
		t.Skip("ACPTERM_TEST_ORCA is not set: this test needs Orca, Firefox, Xvfb, D-Bus and xdotool, and takes minutes")
	}
	texts := make(chan string, 1)
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{
			"go": acptermtest.Print("a.go:3:7: undefined: x\nb.go:9:1: undefined: y\n", 2), "serve": viewtest.Steps(texts),
			"rm": acptermtest.Block,
		},
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.Command.Args[0] == "rm" {
				return acpterm.Decision{Verdict: acpterm.VerdictDeny, Reason: "Files stay."}
			}
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		}),
	})
	v, err := view.New(m, &view.Options{Input: true})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	server.Config = v.Server()
	server.Start()
	t.Cleanup(func() {
		v.Close()
		server.Close()
	})
	real := acptermtest.NewManager(t, nil)
	v.Add(real, "")
	run := func(m *acpterm.Manager, session acpterm.SessionID, options *acpterm.CommandOptions, command ...string) *acpterm.Terminal {
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: session, Command: command[0], Args: command[1:]}, options)
		require.Equal(t, command[0] == "rm", err != nil)
		return terminal
	}
	asking := run(real, "second", &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Attended: true}}, "sh", "-c", question)
	run(m, "first", nil, "go", "build")
	run(m, "first", nil, "serve")
	run(m, "first", nil, "rm", "-rf", "/")
	d := startDesktop(t, v.URL(server.Listener.Addr()))

	d.await("Finished loading (2) Terminals")
	choose(d, asking, texts)
	v.Close() // with its WebSockets, which the server does not know
	server.Close()
	d.await("The connection is lost")
	for _, text := range d.heard {
		require.NotContains(t, text, "not read out")
	}
}

// choose goes from element to element, and chooses commands.
func choose(d *desktop, asking *acpterm.Terminal, texts chan<- string) {
	d.tabTo("Skip to the terminal link", "2 running toggle button not pressed", "1 failed toggle", "1 denied toggle")
	d.tabTo("Follow the newest check box", "Notify of ends", "Filter the commands", "first expanded", "rm -rf / denied")
	d.choose("denied: rm -rf /. This command was denied and did not run.")
	d.tabTo("serve running")
	d.choose("running: serve")
	texts <- strings.Repeat("not read out\n", 100_000)
	close(texts)
	d.await("done: serve")
	d.tabTo("go build exit code 2")
	d.choose("exit code 2: go build")
	d.press("F8")
	d.await("Error 1 of 2: a.go:3:7: undefined: x")
	d.press("F8")
	d.await("Error 2 of 2: b.go:9:1: undefined: y")
	d.tabTo("second expanded", question+" running")
	const waits = "Waits for input: Delete? [y/N]"
	if said := d.choose("running: " + question); !strings.Contains(said, waits) { // together or not
		d.await(waits)
	}
	_, err := asking.Write([]byte("y\r")) // whether Orca passes keys on depends on its mode
	require.NoError(d.t, err)
	d.await("exit code 3: " + question)
	d.press("shift+Tab", "shift+Tab")
	d.await("go build exit code 2")
	d.choose("exit code 2: go build")
	d.tabTo("second expanded", question+" exit code 3")
	d.tabTo("Screen reader toggle button not pressed", "2 errors collapsed", "Find collapsed", "More collapsed", "Full screen toggle",
		"Link to a line", "Output, for reading only.")
}
