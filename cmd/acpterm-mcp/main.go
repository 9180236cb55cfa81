// Acpterm-mcp runs commands for an agent that speaks MCP, such as Claude Code, Codex, opencode, Gemini CLI or Cursor.
// The agent starts it, and calls its tools over standard input and output:
//
//	acpterm-mcp -root . -allow 'go ...' -sandbox -view 127.0.0.1:0
//
// The command init adds it to the servers of an agent, doctor says what works here, and open opens the page of -view.
//
// Rules decide which commands run, and -h lists the flags. A command that no rule matches needs the user's approval,
// for which the agent's program asks (elicitation). If it cannot ask, the command is denied. Without -allow, nothing is
// allowed without a question.
//
// In a shell line, the rules decide about every program. Agents may set only variables that cannot make a program run
// another, unless -variable says otherwise.
//
// Messages are on standard error, which agents usually log. When standard input ends, or after an interrupt, the
// program kills the commands that still run: after an interrupt, they have 50 ms to end by themselves. It exits with
//
//	0    the agent ended the session
//	1    an error
//	2    wrong command line
//	130  interrupted by SIGINT, SIGTERM or SIGHUP
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/usershell"
)

var (
	errUsage       = errors.New("wrong command line")
	errInterrupted = errors.New("interrupted")
)

func main() {
	err := start(os.Args[1:])
	switch {
	case err == nil:
	case errors.Is(err, errInterrupted):
		if err.Error() != errInterrupted.Error() { // something else failed, too
			say(err.Error())
		}
		os.Exit(130)
	case errors.Is(err, errUsage):
		say(err.Error())
		os.Exit(2)
	default:
		say(err.Error())
		os.Exit(1)
	}
}

// start does what the arguments ask for.
func start(arguments []string) error {
	if len(arguments) > 0 {
		switch arguments[0] {
		case "init":
			return initAgent(arguments[1:], os.Stdin, os.Stdout)
		case "doctor":
			return doctor(arguments[1:], os.Stdout)
		case "open":
			return openPage(arguments[1:], os.Stdout)
		}
	}
	opts, err := readOptions(arguments)
	if err != nil || opts.help || opts.version {
		return err
	}
	return run(opts)
}

// say prints a message. It may quote the agent, or a remote machine.
func say(text string) { fmt.Fprintln(os.Stderr, "acpterm-mcp: "+display.Visible(text, 4<<10)) }

// interruptGrace is how long commands may take to end after an interrupt. Claude Code sends SIGTERM 100 ms after
// SIGINT, and Codex SIGKILL 150 ms after SIGTERM, which would leave the commands behind.
const interruptGrace = 50 * time.Millisecond

// run serves one MCP session on standard input and output. When it returns, nothing that it started is left.
func run(opts options) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals // the others are ignored, because agents soon send a second one
		cancel(errInterrupted)
	}()
	far, err := connect(ctx, &opts)
	if err != nil {
		return err
	}
	defer far.close()
	managed, finish, err := managerOptions(ctx, &opts, far)
	if err != nil {
		return err
	}
	kept, err := opts.openArchive(writableHere(opts, far))
	if err != nil {
		return errors.Join(err, finish())
	}
	m, err := acpterm.NewManager(managed)
	if err != nil {
		return errors.Join(err, closeArchive(kept), finish())
	}
	if kept != nil {
		kept.Keep(m, "")
	}
	watchLeftovers(m, opts.timeout)
	hurry := context.AfterFunc(ctx, func() {
		time.Sleep(interruptGrace)
		m.Close()
	})
	defer hurry()
	page, err := servePage(&opts, m, kept)
	if err != nil {
		return errors.Join(err, m.Close(), closeArchive(kept), finish())
	}
	defer page.close()
	if !opts.rules.allows() {
		say("no rule allows a command: each needs the user's approval, and is denied if the agent cannot ask for it")
	}
	told := opts.rules.tell(opts.programs(managed.Commands.Env))
	server := mcpserver.New(m, &mcpserver.Options{
		Session: &acpterm.SessionOptions{Roots: opts.roots}, MaxText: opts.maxText, Version: version(),
		Instructions: told, Denied: told, Input: opts.input,
	})
	err = server.Run(ctx, &mcp.StdioTransport{})
	return errors.Join(err, m.Shutdown(context.Background()), closeArchive(kept), finish())
}

// writableHere returns the directories of this machine where commands may write.
func writableHere(opts options, far *farSide) []string {
	if far != nil {
		return nil
	}
	return slices.Concat(opts.roots, opts.writable)
}

// noPagers returns variables that turn pagers off. On a PTY, an allowed program may start a pager, and the model could
// type any command there.
func noPagers() []string {
	return []string{"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "LESSSECURE=1"}
}

// managerOptions returns the options that the flags ask for. finish is called after the Manager's Shutdown.
func managerOptions(ctx context.Context, opts *options, far *farSide) (
	managed *acpterm.Options, finish func() error, err error,
) {
	finish = func() error { return nil }
	managed = &acpterm.Options{
		RequireSessions: true,
		Commands: acpterm.CommandOptions{
			OutputByteLimit: opts.keep, Shell: new(opts.shell), Timeout: opts.timeout,
			IdleTimeout: opts.idle, Limits: new(opts.limits),
		},
	}
	switch {
	case far != nil:
		managed.Runner, managed.Commands.Env = far, far.env
	case opts.loginEnv:
		login, err := usershell.LoginEnvironment(ctx, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("-login-env: %w", err)
		}
		managed.Commands.Env = login.Env()
	default:
		managed.Commands.Env = os.Environ()
	}
	managed.Commands.Env = slices.Concat(managed.Commands.Env, noPagers())
	var approvals policy.Approvals
	rules, err := opts.rules.policy(far != nil, managed.Commands.Env)
	if err != nil {
		return nil, nil, err
	}
	managed.Policy, managed.Approve = approvals.Policy(rules), approvals.Approve(explained(mcpserver.AskClient))
	opts.input = approvals.Policy(opts.rules.input(opts.pty))
	if always := opts.openAlways(); always != nil && rules != nil {
		managed.Policy, opts.input = always.policy(managed.Policy), always.policy(opts.input)
		managed.Approve = always.approve(explained(mcpserver.AskClientAlways), &approvals)
	}
	if opts.sandbox && far == nil { // otherwise, the remote side makes it
		managed.Commands.Sandbox, err = bubblewrap.New(&bubblewrap.Options{
			Network: opts.network, Writable: opts.writable, Hidden: opts.hidden,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("-sandbox: %w", err)
		}
	}
	kept, err := opts.openJournal(ctx)
	if err != nil {
		return nil, nil, err
	}
	if kept != "" {
		managed.Journal = kept
	}
	if opts.audit != "" {
		log, err := audit.Open(opts.audit, writableHere(*opts, far)...)
		if err != nil {
			return nil, nil, fmt.Errorf("-audit: %w", err)
		}
		managed.Record, finish = log.Record, log.Close
	}
	return managed, finish, nil
}
