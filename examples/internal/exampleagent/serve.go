// Package exampleagent is a small ACP agent without a model: the text of a prompt is the command that it runs, in a
// terminal of its client's. It shows the agent's side of terminal/*, in the order in which agents do things. A command
// after "self: " it runs itself, and package agent shows it.
// examples/agent is this and nothing else; examples/client and examples/editor start themselves as this when they are
// given no agent. With arguments it requires that a person signs in.
package exampleagent

import (
	"errors"
	"flag"
	"log"
	"os"

	"github.com/acpterm/acpterm"
)

// Serve is the agent on the standard input and output of this process, until the client closes the former or is gone.
func Serve() { Main(nil) }

// Main is Serve with arguments: with "-tokens FILE" a sign-in is required, and with "-sign-in" the process signs a person
// in and exits.
func Main(args []string) {
	manager, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	a := newAgent(manager)
	flags := flag.NewFlagSet("agent", flag.ExitOnError)
	flags.StringVar(&a.tokens, "tokens", "", "the `file` that a sign-in makes (default: no sign-in is required)")
	signsIn := flags.Bool("sign-in", false, "ask for the password on the terminal, and make the file of -tokens")
	flags.Parse(args)
	if *signsIn {
		os.Exit(signIn(a.tokens))
	}
	conn := a.connect(stdio{})
	<-conn.DisconnectNotify()
	manager.Close() // at once: the client ends the agent
	a.turns.Wait()
}

// stdio joins standard input and output. Nothing else may write to the latter.
type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }
