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
// With -runner commands run on another machine or in a container; the agent runs here. The connection is opened before
// the agent starts. When it is lost, the far end ends what ran there, and the agent is told that nothing more is known
// of it; its next command opens a new connection.
//
// Each line begins with its kind, such as "> " for the agent's messages and "[1] | " for a command's output: print.go
// lists them. No text of an agent or a command looks like a line of another kind.
//
// What the agent writes to standard error is shown after "agent: ", with nothing in it that steers the terminal, and
// not while the person is asked something. Of commands' escape sequences only colours are shown, as -color says. Why a
// command was denied is shown after "! ".
//
// An agent may want the user to sign in first: the client then asks for that on the terminal, runs the agent's
// program there, and starts the agent again.
//
// The first interrupt cancels the turn, a second one leaves at once; what the client started does not outlive it. The
// process exits with
//
//	0    the turn ended with end_turn, whatever commands were denied, failed or were lost
//	1    anything else failed
//	2    called wrongly
//	3    the agent ended before its turn did; how is on standard error
//	4    the turn ended otherwise, such as with refusal or max_tokens
//	5    the agent requires a sign-in, and there was none
//	6    there was no connection for -runner, or it was lost with commands that the agent had not released
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
	"strings"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/examples/internal/exampleagent"
	"github.com/acpterm/acpterm/policy"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == asExampleAgent {
		exampleagent.Main(os.Args[2:])
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

// sayError prints an error. An agent's words in it are in quotes.
func sayError(err error) {
	if err == nil {
		return
	}
	var lines []byte
	for text := range strings.Lines(err.Error()) {
		text = display.Visible(strings.TrimSuffix(text, "\n"), 0) + "\n"
		lines, _ = appendLines(lines, "client: ", text, 0, width(os.Stderr))
	}
	os.Stderr.Write(lines)
}

// run gives the prompt to the agent. When it returns, all that was started has ended, and so has the live page, which
// stays until the person interrupts. It fails unless the turn ended with end_turn.
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
	defer screen.end()
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
	session := newSession(screen)
	if opts.loginEnv {
		session.login = readLogin(ctx, screen)
		defer session.login.close()
	}
	go obey(signals, session, leave)
	far, err := connect(ctx, &opts, screen)
	if err != nil {
		return await(ctx, err, func() error {
			screen.finish()
			return guards.finish()
		})
	}
	defer far.close()
	session.cwd, session.roots = opts.cwd, opts.roots
	denials := newDenials(screen)
	manager, err := acpterm.NewManager(managerOptions(opts, guards, session, far))
	if err != nil {
		return err
	}
	manager.Observe(denials.hook)
	session.manager = manager
	if err := page.serve(manager, os.Stderr); err != nil {
		return errors.Join(err, manager.Close())
	}

	finish, err := talk(ctx, opts, session)
	session.login.close() // it prints nothing any more
	manager.Shutdown(ctx)
	err = errors.Join(err, manager.Close()) // kills what still runs
	far.close()
	denials.end()
	if err != nil && session.cancelled.Load() {
		err = fmt.Errorf("%w: %w", errCancelled, err)
	}
	err = await(ctx, err, func() error {
		err := errors.Join(finish(), guards.finish())
		screen.finish()
		return err
	})
	if !session.cancelled.Load() {
		page.stay(ctx, os.Stderr)
	}
	return err
}

// await returns err, joined with that of finish, which may block: the output or the audit may not be read, or the disk
// not written.
func await(ctx context.Context, err error, finish func() error) error {
	finished := make(chan error, 1)
	go func() { finished <- finish() }()
	select {
	case incomplete := <-finished:
		return errors.Join(err, incomplete)
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(err, cause) {
			err = errors.Join(err, cause)
		}
		return err
	}
}

// talk is converse, again when the person has signed in where that is required.
func talk(ctx context.Context, opts options, session *session) (finish func() error, err error) {
	finish, err = converse(ctx, opts, session)
	for range mostSignIns {
		required, ok := errors.AsType[*signInRequired](err)
		if !ok {
			break
		}
		if err = signIn(ctx, opts, required, session.screen); err != nil {
			break
		}
		// As the protocol has it, the agent starts again, and so does the conversation.
		finish, err = converse(ctx, opts, session)
	}
	return finish, err
}

// converse is one connection's life: it starts the agent and gives it the prompt. When it returns, the agent has ended;
// finish returns when what it has said last is printed, which may block.
func converse(ctx context.Context, opts options, session *session) (finish func() error, err error) {
	agent, err := startAgent(ctx, opts.agent, session.screen)
	if err != nil {
		return func() error { return nil }, err
	}
	handler := acpterm.NewHandler(session.manager, &acpterm.HandlerOptions{
		Created: session.screen.follow, TerminalAuth: hasTerminal(), SkippedLines: session.screen.printSkipped,
	})
	terminals := agentterm.New(handler, nil)
	rest := handler.Filter(context.Background(), agent)
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(rest), terminals.Handler(session),
		jsonrpc2.OnRecv(session.received))
	stop := context.AfterFunc(ctx, func() { agent.Kill() }) // an agent that does not read may be holding up a request
	defer stop()

	// The commands go first, at the end of the session. Then the agent's input ends, at which it should go by itself.
	capabilities := handler.Capabilities()
	agentterm.Advertise(&capabilities)
	err = session.run(ctx, conn, capabilities, opts.prompt)
	go agent.Close()
	<-agent.Done()
	if errors.Is(err, errAgentGone) {
		err = fmt.Errorf("%w: %s", err, howItEnded(agent))
	}
	return func() error {
		err := agent.Close()
		handler.Close() // after it there is no new output
		return err
	}, err
}

// managerOptions are what the flags say of commands.
func managerOptions(opts options, guards guards, session *session, far *farEnd) *acpterm.Options {
	options := &acpterm.Options{
		RequireSessions: true,
		Commands: acpterm.CommandOptions{
			OutputByteLimit: opts.limit,
			Shell:           new(opts.shell),
			Timeout:         opts.timeout,
			Sandbox:         guards.wrap,
		},
		Policy: guards.policy,
	}
	if far != nil {
		options.Runner = far
	}
	if guards.audit != nil {
		options.Record = guards.audit.Record
	}
	if guards.asker != nil {
		var approvals policy.Approvals
		options.Policy = approvals.Policy(guards.policy)
		options.Approve = approvals.Approve(session.whileWanted(guards.asker.ask))
	}
	return options
}

// startAgent starts an agent in the client's directory; the session has its own. What it writes to standard error is
// printed: on the person's terminal itself it could clear the screen, or read what is typed.
func startAgent(ctx context.Context, command []string, screen *screen) (*agentproc.Process, error) {
	return agentproc.Start(ctx, exec.Command(command[0], command[1:]...), &agentproc.Options{
		Grace:  time.Second,
		Stderr: screen.printError,
	})
}

// howItEnded is the exit status of an agent that is done.
func howItEnded(agent *agentproc.Process) string {
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
			go session.screen.tell("cancelling; interrupt again to leave at once") // which may block
			continue
		}
		leave(fmt.Errorf("%w: %v", errLeft, sig))
	}
}
