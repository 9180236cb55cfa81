// Acpterm is a small ACP client for any agent. It gives the agent one prompt and shows the answer, with the live output
// of every command that the agent runs in a terminal.
//
//	acpterm [FLAG...] [-prompt TEXT] -- AGENT [ARG...]
//
// It allows everything the agent asks permission for. Flags restrict the commands, and -h lists them with the exit
// codes: rules for commands, questions on the terminal, a sandbox, a timeout, an audit file. Commands that the agent
// runs itself are shown if it reports them, but the flags do not apply to them. Without -prompt, the client reads the
// prompt from standard input. docs/acpterm.md describes it to users.
//
// Each line begins with its kind, such as "> " for the agent's messages and "[1] | " for a command's output. The kinds
// are listed in print.go. No text of an agent or a command looks like a line of another kind.
//
// The first interrupt cancels the turn, and a second one leaves immediately. Nothing outlives the client.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/view"
)

func main() {
	mcpserver.RunRelay() // if an agent has started this program as its MCP server
	opts, err := readOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, "acpterm: "+messageOf(err))
		os.Exit(exitUsage)
	}
	err = run(opts)
	within(time.Second, func() { sayError(err) }) // standard error may not be read
	os.Exit(exitCode(err))
}

// within calls do, but does not wait for longer than limit until it returns.
func within(limit time.Duration, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// sayError prints an error. Any words of the agent in it are quoted.
func sayError(err error) {
	if err == nil {
		return
	}
	lines := rows{prefix: "acpterm: ", painted: "acpterm: ", width: width(os.Stderr)}
	for text := range strings.Lines(messageOf(err)) {
		lines.add(display.Visible(strings.TrimSuffix(text, "\n"), 0) + "\n")
	}
	os.Stderr.Write(lines.to)
}

// messageOf returns the text of an error without the name of the program, which is also that of the library.
func messageOf(err error) string { return strings.TrimPrefix(err.Error(), "acpterm: ") }

// run gives the prompt to the agent. When it returns, everything it started has ended, including the live page, which
// stays until the user interrupts. It fails unless the turn ended with end_turn.
func run(opts options) error {
	// ctx is cancelled when the user no longer wants to wait for anything.
	ctx, leave := context.WithCancelCause(context.Background())
	defer leave(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// Otherwise a closed output pipe would end this process before it cleans up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	screen := newScreen(os.Stdout, os.Stderr, wantColours(os.Stdout), func(err error) { leave(fmt.Errorf("cannot print: %w", err)) })
	defer screen.end()
	if wantLive(os.Stdout) {
		screen.goLive(os.Stdout)
	}
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
	session.page, session.agent = page, filepath.Base(opts.agent[0])
	if opts.mcp {
		if session.tools, err = listenForTools(); err != nil {
			return err
		}
		// A call of the agent may wait for the user to read the output.
		defer within(time.Second, func() { session.tools.Close() })
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
	return runOn(ctx, opts, guards, session, far, page)
}

// runOn is the part of run after the connection to the place where commands run, which is nil without -runner.
func runOn(ctx context.Context, opts options, guards guards, session *session, far *farEnd, page *livePage) error {
	screen := session.screen
	session.cwd, session.roots = opts.cwd, opts.roots
	denials := newNotices(screen, screen.out, "! ")
	options := managerOptions(opts, guards, session, far)
	options.Record = denials.record(options.Record)
	manager, err := acpterm.NewManager(options)
	if err != nil {
		return err
	}
	manager.Observe(denials.sayMoved(screen.name))
	if guards.kept != nil {
		guards.kept.Keep(manager, "")
	}
	session.manager = manager
	if err := page.serve(manager, view.Options{Input: opts.pty, Archive: guards.kept, Editor: opts.editor}, os.Stderr); err != nil {
		return errors.Join(err, manager.Close())
	}
	screen.setPage(page.url())

	finish, err := talk(ctx, opts, session)
	manager.Shutdown(ctx)
	err = errors.Join(err, manager.Close()) // kills the remaining commands
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

// await returns err joined with the error of finish. It stops waiting when ctx is done, because finish may block: the
// output or the audit may not be read, or the disk not written.
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

// talk calls converse, and calls it again after the user has signed in, if the agent requires that.
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
		// As the protocol requires, the agent is restarted, and with it the conversation.
		finish, err = converse(ctx, opts, session)
	}
	return finish, err
}

// converse runs one connection: it starts the agent and gives it the prompt. When it returns, the agent has ended.
// finish returns when the agent's last output is printed, which may block.
func converse(ctx context.Context, opts options, session *session) (finish func() error, err error) {
	agent, err := startAgent(ctx, opts.agent, session.screen)
	if err != nil {
		return func() error { return nil }, err
	}
	handler := acpterm.NewHandler(session.manager, &acpterm.HandlerOptions{
		Created: session.screen.follow, SkippedLines: session.screen.printSkipped,
		Capabilities: &acpterm.ClientCapabilities{
			Terminal: true, Auth: acpterm.AuthCapabilities{Terminal: hasTerminal()},
		},
	})
	terminals := agentterm.New(handler, nil)
	rest := handler.Filter(context.Background(), agent)
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(rest), terminals.Handler(session),
		jsonrpc2.OnRecv(session.received))
	stop := context.AfterFunc(ctx, func() { agent.Kill() }) // an agent that does not read may block a request
	defer stop()

	// The commands end first, with the session. Then the agent's input ends, which should make the agent exit.
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
		handler.Close() // no new output comes after it
		return err
	}, err
}

// managerOptions returns the manager's options according to the flags.
func managerOptions(opts options, guards guards, session *session, far *farEnd) *acpterm.Options {
	options := &acpterm.Options{
		RequireSessions: true,
		Commands: acpterm.CommandOptions{
			Shell:       new(opts.shell),
			Timeout:     opts.timeout,
			IdleTimeout: opts.idle,
			Sandbox:     guards.wrap,
		},
		Policy: guards.policy,
	}
	if far != nil {
		options.Runner = far
	}
	if opts.pty {
		options.CommandsFor = func(acpterm.SessionID, acpterm.Command) *acpterm.CommandOptions {
			return &acpterm.CommandOptions{PTY: ptyOptions(opts.view != "")}
		}
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

// startAgent starts an agent in the client's directory; the session has its own. The client prints the agent's standard
// error: directly on the user's terminal, the agent could clear the screen or read the user's input.
func startAgent(ctx context.Context, command []string, screen *screen) (*agentproc.Process, error) {
	return agentproc.Start(ctx, exec.Command(command[0], command[1:]...), &agentproc.Options{
		Grace:  time.Second,
		Stderr: screen.printError,
	})
}

// howItEnded returns the exit status of an ended agent.
func howItEnded(agent *agentproc.Process) string {
	status, err := agent.Wait(context.Background())
	if err != nil {
		return err.Error()
	}
	return status.String()
}

// obey handles signals. The first one cancels the turn, and the next one leaves. The first one also leaves if no turn
// is running, or if it says that the user's terminal is gone.
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
