package signin_test

// docs/signing-in.md shows these pieces.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/signin"
)

// A client that owns the user's terminal, such as a TUI that is not drawing.
func ExampleRun() {
	ctx := context.Background()
	tty, restore := rawTerminal()
	defer restore()
	var method signin.Method // the user's choice

	err := signin.Run(ctx, exec.Command("some-agent", "--acp"), method, tty, &signin.Options{
		Started: func(t *acpterm.Terminal) { followSize(tty, t) },
	})
	failed, _ := errors.AsType[*signin.Error](err)
	switch {
	case err == nil:
		fmt.Println("signed in: end the agent, start it again, initialize, session/new")
	case errors.Is(err, acpterm.ErrCancelled):
		fmt.Println("cancelled")
	case failed.Status != nil:
		fmt.Println("not signed in:", failed.Status)
	default:
		log.Print(err)
	}
}

// A client whose views show the terminals of a manager: the user answers in the view, by Terminal.Write.
func ExampleRun_view() {
	ctx := context.Background()
	var manager *acpterm.Manager
	var method signin.Method

	err := signin.Run(ctx, exec.Command("some-agent", "--acp"), method, nil, &signin.Options{
		Manager: manager,
		Started: showPane,
	})
	if err != nil {
		log.Print(err)
	}
}

// The methods of an agent, for a user to choose from.
func ExampleReadMethods() {
	initializeResult := json.RawMessage(`{"protocolVersion":1,"authMethods":[
		{"id":"shell","name":"Shell","type":"terminal","args":["login"]}]}`)

	methods, err := signin.ReadMethods(initializeResult)
	if err != nil {
		log.Print(err) // malformed methods are left out, and those beyond the limits
	}
	for _, method := range methods {
		fmt.Println(display.Visible(method.Name, 80), display.Visible(method.Description, 400))
	}
	// Output: Shell
}

// A client of ACP v1 advertises it by its handler, and a client of v2 among its other capabilities.
func ExampleCapabilityV2() {
	handler := acpterm.NewHandler(nil, &acpterm.HandlerOptions{Capabilities: &acpterm.ClientCapabilities{
		Terminal: true, Auth: acpterm.AuthCapabilities{Terminal: true},
	}})
	v1 := map[string]any{"protocolVersion": 1, "clientCapabilities": handler.Capabilities()}
	v2 := map[string]any{"protocolVersion": 2, "capabilities": map[string]any{"auth": signin.CapabilityV2{}}}
	json.NewEncoder(os.Stdout).Encode(v1)
	json.NewEncoder(os.Stdout).Encode(v2)
	// Output:
	// {"clientCapabilities":{"terminal":true,"auth":{"terminal":true}},"protocolVersion":1}
	// {"capabilities":{"auth":{"terminal":{}}},"protocolVersion":2}
}

func rawTerminal() (tty *os.File, restore func()) { return os.Stdin, func() {} }
func followSize(*os.File, *acpterm.Terminal)      {}
func showPane(*acpterm.Terminal)                  {}
