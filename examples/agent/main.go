// Agent is a small ACP agent on standard input and output. It has no model: the text of a prompt is a command, which it
// runs in a terminal of its client. Its code is in cmd/exampleagent, which cmd/acpterm also uses.
//
//	go run ./cmd/acpterm -prompt 'go version' -- go run ./examples/agent
//
// With -tokens, it requires the user to sign in first:
//
//	go run ./cmd/acpterm -prompt 'go version' -- go run ./examples/agent -tokens tokens
package main

import (
	"os"

	"github.com/acpterm/acpterm/cmd/exampleagent"
)

func main() { exampleagent.Main(os.Args[1:]) }
