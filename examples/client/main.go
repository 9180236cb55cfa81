// Client is a small ACP client for any agent: it gives the agent one prompt and shows what comes of it, with the
// live output of every command that the agent runs in a terminal.
//
//	go run ./examples/client [FLAG...] [-prompt TEXT] [-- AGENT ARG...]
//
// It allows whatever the agent asks permission for; what commands may do is for flags to say, which -h lists: rules
// for what may run, questions on the terminal, a sandbox, a timeout, an audit file. Without -prompt it reads the prompt
// from standard input. Without AGENT it starts itself as the example agent, which examples/agent is too. What the agent
// writes to standard error is shown after "agent: ", with nothing in it that steers the terminal, and not while the person
// is asked something.
//
// The first interrupt cancels the turn, a second one leaves at once; what the client started does not outlive
// it. It exits with 0 when the turn ended with end_turn, with 2 when it was called wrongly, and else with 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/examples/internal/exampleagent"
)

func main() {
	if slices.Equal(os.Args[1:], []string{asExampleAgent}) {
		exampleagent.Serve()
		return
	}
	opts, err := readOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(2)
	}
	if err := run(opts); err != nil {
		for text := range strings.Lines(err.Error()) { // which may be an agent's words
			fmt.Fprintln(os.Stderr, "client:", display.Visible(strings.TrimSuffix(text, "\n"), 0))
		}
		os.Exit(1)
	}
}

// run gives the prompt to the agent. When it returns, all that was started has ended. It fails unless the turn
// ended with end_turn.
func run(opts options) error {
	// The end of ctx is when the person does not want to wait for anything any more.
	ctx, leave := context.WithCancelCause(context.Background())
	defer leave(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Else the end of a pipe that we print to would be our own, and nothing would be put away.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	screen := newScreen(os.Stdout, os.Stderr, func(err error) { leave(fmt.Errorf("cannot print: %w", err)) })
	guards, err := newGuards(opts, screen)
	if err != nil {
		return err
	}
	var page *livePage
	if opts.view != "" {
		if page, err = listenForPage(opts.view); err != nil {
			return err
		}
		defer page.close()
	}
	options := &acpterm.Options{
		RequireSessions: true,
		OutputByteLimit: opts.limit,
		Timeout:         opts.timeout,
		Policy:          guards.policy,
		Sandbox:         guards.wrap,
	}
	if guards.audit != nil {
		options.Record = guards.audit.Record
	}
	session := newSession(screen, opts.cwd, opts.roots)
	if guards.asker != nil {
		options.Approve = session.whileWanted(guards.asker.ask)
	}
	manager, err := acpterm.NewManager(options)
	if err != nil {
		return err
	}
	session.manager = manager
	if err := page.serve(manager, os.Stderr); err != nil {
		return errors.Join(err, manager.Close())
	}
	agent, err := startAgent(opts.agent, screen.printError)
	if err != nil {
		return errors.Join(err, manager.Close())
	}
	handler := acpterm.NewHandler(manager, &acpterm.HandlerOptions{Next: session, Created: screen.follow})
	conn := handler.Connect(context.Background(), acpterm.NewStream(agent, nil), jsonrpc2.OnRecv(session.received))
	go obey(signals, session, leave)
	go func() {
		agent.awaitLastWord()
		conn.Close()
	}()
	context.AfterFunc(ctx, func() { conn.Close() }) // an agent that does not read may be holding up a request

	err = session.run(ctx, conn, handler.Capabilities(), opts.prompt)

	// The commands go first. Then the agent's input ends, at which it should go by itself.
	manager.Shutdown(ctx)
	err = errors.Join(err, manager.Close()) // kills what still runs
	conn.Close()
	agent.end(ctx)
	if errors.Is(err, errAgentGone) {
		err = fmt.Errorf("%w: %s", err, agent.state())
	}
	finished := make(chan error, 1)
	go func() {
		handler.Close() // after it there is no new output
		err := guards.finish()
		screen.finish()
		finished <- err
	}()
	select {
	case incomplete := <-finished:
		return errors.Join(err, incomplete)
	case <-ctx.Done(): // the output or the audit may not be read, or the disk not written
		return err
	}
}

// obey does what signals ask for. The first cancels the turn. The next one leaves, and so does one that comes
// when there is no turn, or one that says that the person's terminal is gone.
func obey(signals <-chan os.Signal, session *session, leave context.CancelCauseFunc) {
	for first := true; ; first = false {
		sig := <-signals
		if first && sig != syscall.SIGHUP && session.cancel() {
			fmt.Fprintln(os.Stderr, "client: cancelling; interrupt again to leave at once")
			continue
		}
		leave(fmt.Errorf("left: %v", sig))
	}
}
