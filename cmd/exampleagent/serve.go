// Package exampleagent is a small ACP agent without a model. The text of a prompt is a command, and the agent runs it
// in a terminal of its client. It shows the agent's side of terminal/*, with the requests in their usual order. After
// "self: ", the agent runs the command itself, and package agent shows it.
//
// examples/agent is only this package. cmd/acpterm and examples/editor start themselves as this agent if no agent is
// given. With arguments, the agent can require the user to sign in.
package exampleagent

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/acpterm/acpterm"
)

// Serve runs the agent on standard input and output, until the client exits or closes the agent's standard input.
func Serve() { Main(nil) }

const usage = `usage: agent [-tokens FILE] [-sign-in]

Is an ACP agent on standard input and output: the text of a prompt is a command, which it runs in the client's terminal.

  acpterm -prompt 'go version' -- agent
  acpterm -prompt 'self: go version' -- agent
  acpterm -prompt 'go version' -- agent -tokens tokens

`

// Main is Serve with arguments. "-tokens FILE" requires a sign-in. With "-sign-in", the process signs the user in and
// exits.
func Main(args []string) {
	manager, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	a := newAgent(manager)
	flags := flag.NewFlagSet("agent", flag.ExitOnError)
	flags.StringVar(&a.tokens, "tokens", "", "the `file` that signing in creates (default: no sign-in is required)")
	signsIn := flags.Bool("sign-in", false, "ask for the password on the terminal, and create the file of -tokens")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.Parse(args)
	if *signsIn {
		os.Exit(signIn(a.tokens))
	}
	conn := a.connect(stdio{})
	<-conn.DisconnectNotify()
	manager.Close() // immediately: the client is ending the agent
	a.turns.Wait()
}

// stdio joins standard input and output. Nothing else may write to standard output.
type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }
