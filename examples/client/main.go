// Client is a small ACP client for any agent: it gives the agent one prompt and shows what comes of it, with the
// live output of every command that the agent runs in a terminal.
//
//	go run ./examples/client [FLAG...] [-prompt TEXT] [-- AGENT ARG...]
//
// It allows whatever the agent asks permission for; what commands may do is for flags to say, which -h lists: rules
// for what may run, questions on the terminal, a sandbox, a timeout, an audit file. Commands that the agent runs itself
// are shown if it tells of them, and the flags do not hold for them. Without -prompt it reads the prompt from standard
// input. Without AGENT it starts itself as the example agent, which examples/agent is too.
//
// What the agent writes to standard error is shown after "agent: ", with nothing in it that steers the terminal, and
// not while the person is asked something. Of commands' escape sequences only colours are shown, as -color says. Why a
// command was denied is shown after "! ".
//
// The first interrupt cancels the turn, a second one leaves at once; what the client started does not outlive it. The
// process exits with
//
//	0    the turn ended with end_turn, whatever commands were denied or failed
//	1    anything else failed
//	2    called wrongly
//	3    the agent ended before its turn did; how is on standard error
//	4    the turn ended otherwise, such as with refusal or max_tokens
//	130  interrupted by SIGINT, SIGTERM or SIGHUP
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

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
		os.Exit(exitUsage)
	}
	err = run(opts)
	said := make(chan struct{})
	go func() {
		defer close(said)
		sayError(err)
	}()
	select {
	case <-said:
	case <-time.After(time.Second): // standard error is not read
	}
	os.Exit(exitCode(err))
}

// sayError prints an error, which may be an agent's words.
func sayError(err error) {
	if err == nil {
		return
	}
	for text := range strings.Lines(err.Error()) {
		fmt.Fprintln(os.Stderr, "client:", display.Visible(strings.TrimSuffix(text, "\n"), 0))
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

	colours := wantColours(opts.colour, os.Stdout)
	screen := newScreen(os.Stdout, os.Stderr, colours, func(err error) { leave(fmt.Errorf("cannot print: %w", err)) })
	slog.SetDefault(slog.New(slog.NewTextHandler(clientLog{screen}, nil)))
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
	session := newSession(screen, opts.cwd, opts.roots)
	denials := newDenials(screen)
	manager, err := acpterm.NewManager(managerOptions(opts, guards, session, denials))
	if err != nil {
		return err
	}
	session.manager = manager
	if err := page.serve(manager, os.Stderr); err != nil {
		return errors.Join(err, manager.Close())
	}
	agent, err := startAgent(ctx, opts.agent, screen)
	if err != nil {
		return errors.Join(err, manager.Close())
	}
	handler := acpterm.NewHandler(manager, &acpterm.HandlerOptions{
		Next: session, Created: screen.follow, AgentTerminals: true,
	})
	stream := acpterm.NewStream(agent, &acpterm.StreamOptions{SkippedLines: screen.printSkipped})
	conn := handler.Connect(context.Background(), stream, jsonrpc2.OnRecv(session.received))
	go obey(signals, session, leave)
	context.AfterFunc(ctx, func() { agent.Kill() }) // an agent that does not read may be holding up a request

	err = session.run(ctx, conn, handler.Capabilities(), opts.prompt)

	// The commands go first. Then the agent's input ends, at which it should go by itself.
	manager.Shutdown(ctx)
	err = errors.Join(err, manager.Close()) // kills what still runs
	denials.end()
	go agent.Close() // also waits for the printing of what the agent says last, which may block
	<-agent.Done()
	if errors.Is(err, errAgentGone) {
		err = fmt.Errorf("%w: %s", err, howItEnded(agent))
	}
	if err != nil && session.cancelled.Load() {
		err = fmt.Errorf("%w: %w", errCancelled, err)
	}
	finished := make(chan error, 1)
	go func() {
		err := agent.Close()
		handler.Close() // after it there is no new output
		err = errors.Join(err, guards.finish())
		screen.finish()
		finished <- err
	}()
	select {
	case incomplete := <-finished:
		return errors.Join(err, incomplete)
	case <-ctx.Done(): // the output or the audit may not be read, or the disk not written
		if cause := context.Cause(ctx); !errors.Is(err, cause) {
			err = errors.Join(err, cause)
		}
		return err
	}
}

// managerOptions are what the flags say of commands.
func managerOptions(opts options, guards guards, session *session, denials *denials) *acpterm.Options {
	options := &acpterm.Options{
		RequireSessions: true,
		OutputByteLimit: opts.limit,
		Timeout:         opts.timeout,
		Policy:          guards.policy,
		Sandbox:         guards.wrap,
		Events:          denials.hook,
	}
	if guards.audit != nil {
		options.Record = guards.audit.Record
	}
	if guards.asker != nil {
		options.Approve = session.whileWanted(guards.asker.ask)
	}
	return options
}

// startAgent starts an agent in the client's directory; the session has its own. What it writes to standard error is
// printed: on the person's terminal itself it could clear the screen, or read what is typed.
func startAgent(ctx context.Context, command []string, screen *screen) (*acpterm.Agent, error) {
	return acpterm.StartAgent(ctx, exec.Command(command[0], command[1:]...), &acpterm.AgentOptions{
		Grace:  time.Second,
		Stderr: screen.printError,
	})
}

// howItEnded is the exit status of an agent that is done.
func howItEnded(agent *acpterm.Agent) string {
	status, err := agent.Wait(context.Background())
	if err != nil {
		return err.Error()
	}
	return status.String()
}

// obey does what signals ask for. The first cancels the turn. The next one leaves, and so does one that comes
// when there is no turn, or one that says that the person's terminal is gone.
func obey(signals <-chan os.Signal, session *session, leave context.CancelCauseFunc) {
	for first := true; ; first = false {
		sig := <-signals
		if first && sig != syscall.SIGHUP && session.cancel() {
			go fmt.Fprintln(os.Stderr, "client: cancelling; interrupt again to leave at once") // which may block
			continue
		}
		leave(fmt.Errorf("%w: %v", errLeft, sig))
	}
}
