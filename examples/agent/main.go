// Agent is a small ACP agent on standard input and output. It has no model: the text of a prompt is a command, which it
// runs in a terminal of its client. Its code is in examples/internal/exampleagent, which examples/client also uses.
//
//	go run ./examples/client -prompt 'go version' -- go run ./examples/agent
//
// With -tokens, it requires the user to sign in first:
//
//	go run ./examples/client -prompt 'go version' -- go run ./examples/agent -tokens tokens
package main

import (
	"os"

	"github.com/acpterm/acpterm/examples/internal/exampleagent"
)

func main() { exampleagent.Main(os.Args[1:]) }
