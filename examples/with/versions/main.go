// Versions is a client of ACP v1 and v2: go run ./examples/with/versions "go version" go run ./examples/agent
//
// The agent chooses the version. v1 is served with coder/acp-go-sdk, which does not have v2, and v2 with
// sourcegraph/jsonrpc2 after Handler.Filter, on the same connection. This file negotiates; v1.go and v2.go have the
// conversations.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/display"
	acp "github.com/coder/acp-go-sdk"
)

// conversation is a connection after initialize.
type conversation struct {
	manager *acpterm.Manager
	io.Reader
	io.WriteCloser
	show func(*acpterm.Terminal) // is called for each terminal, of the client or of the agent
}

// initialize offers v2, with the members of both versions: agents ignore those that they do not know.
const initialize = `{"jsonrpc":"2.0","id":"initialize","method":"initialize","params":{"protocolVersion":2,` +
	`"clientInfo":{"name":"versions","version":"1"},"clientCapabilities":{"terminal":true},` +
	`"info":{"name":"versions","version":"1"},"capabilities":{}}}` + "\n"

// maxAnswer is the most bytes of an answer to initialize.
const maxAnswer = 1 << 20

// negotiate returns the agent's version, and a reader of everything after its answer. Neither library has read from the
// connection yet, so either can serve the rest.
func negotiate(agent io.ReadWriter) (version int, rest io.Reader, err error) {
	buffered := bufio.NewReaderSize(agent, maxAnswer)
	if _, err := io.WriteString(agent, initialize); err != nil {
		return 0, nil, err
	}
	for {
		line, err := buffered.ReadSlice('\n')
		if err != nil {
			return 0, nil, fmt.Errorf("initialize: %w", err)
		}
		var answer struct {
			ID     any
			Result struct{ ProtocolVersion int }
			Error  *acp.RequestError
		}
		switch err := json.Unmarshal(line, &answer); {
		case err != nil || answer.ID != "initialize": // not a message: some agents print other lines
		case answer.Error != nil:
			return 0, nil, answer.Error
		default:
			return answer.Result.ProtocolVersion, buffered, nil
		}
	}
}

func main() {
	ctx := context.Background()
	m, err1 := acpterm.NewManager(nil) // one for the whole program
	agent, err2 := agentproc.Start(ctx, exec.Command(os.Args[2], os.Args[3:]...), nil)
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	var shown sync.WaitGroup
	version, rest, err := negotiate(agent)
	c := conversation{m, rest, agent, func(t *acpterm.Terminal) {
		shown.Go(func() { display.Follow(ctx, os.Stdout, t) })
	}}
	var reason string
	switch {
	case err != nil:
	case version == 1:
		reason, err = c.promptV1(ctx, os.Args[1])
	case version == 2:
		reason, err = c.promptV2(ctx, os.Args[1])
	default:
		err = fmt.Errorf("the agent speaks version %d", version)
	}
	err = errors.Join(err, agent.Close(), m.Close()) // ends the commands, then the agent
	shown.Wait()
	fmt.Println(display.Visible(reason, 80))
	if err != nil {
		status, _ := agent.Wait(ctx) // "peer disconnected" does not say how the agent ended
		log.Fatal(display.Visible(err.Error(), 0), "; the agent: ", status)
	}
}
