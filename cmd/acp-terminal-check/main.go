// Command acp-terminal-check reports how well a client serves the terminal/* methods of the Agent Client Protocol:
//
//	acp-terminal-check [FLAG...] -- CLIENT [ARG...]
//
// It starts the client with itself as the agent. As the agent, it asks the client to run commands, which are the same
// program again, so it needs neither a shell nor a network nor anything else. It exits with 0 if the client passed, 1
// if a check failed, 2 for a wrong command line, and 3 if the client could not be checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/checks"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

// The exit statuses.
const (
	exitPassed = iota
	exitFailed
	exitUsage
	exitUnchecked
)

const usage = `usage: acp-terminal-check [FLAG...] -- CLIENT [ARG...]

Checks a client's terminal/* methods. CLIENT must start the agent whose command line follows its arguments, send it a
prompt of any text, and run commands without asking the user. In one argument, {agent} is the agent's command line.

  acp-terminal-check -- my-client --prompt check --
  acp-terminal-check -- my-client --agent '{agent}' exec check
  acp-terminal-check -level protocol -list

`

// settings holds the values from the command line.
type settings struct {
	selected []checks.Check
	timeout  time.Duration
	total    time.Duration
	json     bool
	verbose  bool
	list     bool
	client   []string
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the program as the kit, as the agent started by the client, or as a command of a check.
func run(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) > 0 && args[0] == child.Mark:
		child.Main(args[1:])
	case len(args) == 2 && args[0] == agentMark:
		if err := serveAgent(args[1], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(stderr, "acp-terminal-check: the agent:", err)
			return exitUnchecked
		}
		return exitPassed
	}
	s, err := readSettings(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitPassed
	case err != nil:
		fmt.Fprintln(stderr, "acp-terminal-check:", err)
		return exitUsage
	case s.list:
		list(stdout, s.selected)
		return exitPassed
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := check(ctx, s)
	if err != nil {
		fmt.Fprintln(stderr, "acp-terminal-check:", err)
		return exitUnchecked
	}
	if s.json {
		err = r.writeJSON(stdout)
	} else {
		err = r.writeText(stdout, s.verbose)
	}
	if err != nil {
		fmt.Fprintln(stderr, "acp-terminal-check:", err)
		return exitUnchecked
	}
	return r.exitStatus()
}

func readSettings(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("acp-terminal-check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.DurationVar(&s.timeout, "timeout", 10*time.Second, "the time limit of a `check`")
	flags.DurationVar(&s.total, "total", 2*time.Minute, "the time limit of `all` checks; the remaining ones are not tried")
	flags.BoolVar(&s.json, "json", false, "print the report as JSON")
	flags.BoolVar(&s.verbose, "v", false, "also list the passed checks")
	flags.BoolVar(&s.list, "list", false, "list the checks, and check nothing")
	level := flags.String("level", "all", "the `level` of the checks: protocol, beyond or all")
	pattern := flags.String("run", "", "only the checks with ids that match this `expression`, and those that they need")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	matches, err := regexp.Compile(*pattern)
	if err != nil {
		return s, fmt.Errorf("-run: %w", err)
	}
	s.selected = checks.WithNeeds(func(c checks.Check) bool {
		return matches.MatchString(c.ID) && (*level == "all" || string(c.Level) == *level)
	})
	s.client = flags.Args()
	switch {
	case *level != "all" && *level != string(checks.Protocol) && *level != string(checks.Beyond):
		return s, fmt.Errorf("-level: %q is not a level", *level)
	case len(s.selected) == 0:
		return s, fmt.Errorf("-run: no check's id matches %q", *pattern)
	case s.timeout <= 0:
		return s, errors.New("-timeout must be more than 0")
	case s.total <= 0:
		return s, errors.New("-total must be more than 0")
	case len(s.client) == 0 && !s.list:
		return s, errors.New("the command line of the client is missing (-h shows examples)")
	}
	return s, nil
}
