package main

// The command line.

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/usershell"
)

// options holds the values of the command line.
type options struct {
	cwd    string
	prompt string
	agent  []string

	roots     []string
	rules     *policy.Rules // or nil if everything may run
	variables []string      // that the agent may set, in addition to policy.SafeVariables
	ask       bool
	timeout   time.Duration
	idle      time.Duration // the longest time of silence and idleness
	audit     string
	sandbox   bool
	network   bool
	view      string
	archive   string
	editor    string
	pty       bool
	mcp       bool
	shell     acpterm.Shell

	runner  []string // the command line of a shell where commands run, or nil to run them here
	helpers string   // the directory of helpers for there, or "" to find one there
}

const usage = `usage: acpterm [FLAG...] [-prompt TEXT] -- AGENT [ARG...]

Gives an ACP agent a prompt, and shows its answer and the commands that it runs. With -runner, commands run on another
machine, and -cwd, -root and -allow name its directories and programs.

  acpterm -prompt 'fix the tests' -- some-agent --acp
  acpterm -allow go -ask -view 127.0.0.1:0 -prompt 'go test ./...' -- some-agent --acp
  acpterm -sandbox -timeout 5m -audit ~/audit.json -prompt 'fix the tests' -- some-agent --acp

`

func readOptions() (options, error) {
	var opts options
	var allowed allowances
	flags := opts.flags(&allowed)
	switch err := flags.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		flags.VisitAll(func(f *flag.Flag) {
			argument, text := flag.UnquoteUsage(f)
			fmt.Printf("  -%-22s %s\n", f.Name+" "+argument, text)
		})
		fmt.Print(exitHelp())
		os.Exit(0)
	case err != nil:
		return options{}, fmt.Errorf("%w (-h lists the flags)", err)
	case flags.NArg() == 0:
		return options{}, errors.New("name the agent's command after the flags (-h lists them)")
	}
	opts.agent = flags.Args()
	if err := opts.check(&allowed); err != nil {
		return options{}, err
	}
	if opts.cwd == "" && len(opts.roots) > 0 {
		opts.cwd = opts.roots[0]
	}
	if opts.runner == nil {
		if err := opts.findDirectories(directory); err != nil {
			return options{}, err
		}
	}
	opts.rules = allowed.rules(opts.ask)
	if opts.prompt == "" {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return options{}, err
		}
		opts.prompt = string(text)
	}
	if opts.prompt == "" {
		return options{}, errors.New("the prompt is empty: set -prompt, or write it to standard input")
	}
	return opts, nil
}

// flags defines the flags that set opts and allowed.
func (opts *options) flags(allowed *allowances) *flag.FlagSet {
	flags := flag.NewFlagSet("acpterm", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error should not drown in the usage
	flags.StringVar(&opts.cwd, "cwd", "",
		"the agent's working `directory` (default: the first -root, or the current or remote home one)")
	flags.StringVar(&opts.prompt, "prompt", "", "the `text` of the prompt (default: standard input)")
	flags.Func("root", "a `directory` for commands, and for their writes with -sandbox; repeatable (default: -cwd)", func(dir string) error {
		opts.roots = append(opts.roots, dir)
		return nil
	})
	flags.Func("allow", "a `rule` that allows commands: 'go', 'git log ...', or @FILE with rules as JSON; repeatable",
		allowed.add)
	flags.Func("variable",
		"the `name` of a variable that the agent may set, or NAME=VALUE; repeatable", func(text string) error {
			if text == "" || strings.HasPrefix(text, "=") {
				return errors.New("the name is empty")
			}
			opts.variables = append(opts.variables, text)
			return nil
		})
	flags.BoolVar(&opts.ask, "ask", false,
		"ask on the terminal about commands that no -allow allows; without both, all commands run")
	flags.DurationVar(&opts.timeout, "timeout", 0,
		"the maximum `duration` of a command, such as 90s (default: no limit)")
	flags.DurationVar(&opts.idle, "idle-timeout", 0,
		"the maximum `duration` for which a command may be silent and idle, such as 2m (default: no limit)")
	flags.StringVar(&opts.audit, "audit", "",
		"a `file` outside the roots that records each decision and end as JSON")
	flags.BoolVar(&opts.sandbox, "sandbox", false,
		"run commands with bubblewrap (Linux): no network, and writes only to the roots")
	flags.BoolVar(&opts.network, "network", false, "allow the network in the sandbox")
	flags.Func("shell",
		"the shell for shell lines: a `name` such as bash, bash-login, zsh, fish or pwsh (default: sh or cmd)",
		func(name string) (err error) {
			opts.shell, err = usershell.KnownShell(name)
			return err
		})
	flags.Func("runner",
		"run commands through a remote POSIX shell, started by a `command` such as 'ssh host'", opts.setRunner)
	flags.StringVar(&opts.helpers, "helpers", "",
		"a `directory` with acpterm-remote-linux-amd64 and the like, for -runner (default: a program in the remote PATH)")
	flags.BoolVar(&opts.mcp, "mcp", false, "also offer terminals as MCP tools, for agents that do not use terminal/*")
	flags.StringVar(&opts.view, "view", "",
		"a local `address` for a live page, such as 127.0.0.1:0, until you interrupt the client")
	flags.StringVar(&opts.archive, "archive", "",
		"a `directory` outside the roots that keeps ended commands for the page, up to 256 MiB and 30 days")
	flags.StringVar(&opts.editor, "editor", "",
		"open places in files that the page shows: a `command`, 'code -g {file}:{line}', or vscode://file{file}:{line}")
	flags.BoolVar(&opts.pty, "pty", false,
		"run commands on a PTY; only on the page of -view can you type into them")
	return flags
}

// check fails for invalid flags and for invalid combinations.
func (opts *options) check(allowed *allowances) error {
	switch {
	case opts.timeout < 0:
		return errors.New("-timeout: must not be negative")
	case opts.idle < 0:
		return errors.New("-idle-timeout: must not be negative")
	case opts.network && !opts.sandbox:
		return errors.New("-network: needs -sandbox; without it, commands have the network")
	case opts.helpers != "" && opts.runner == nil:
		return errors.New("-helpers: needs -runner")
	}
	if opts.helpers != "" {
		if _, err := directory(opts.helpers); err != nil {
			return fmt.Errorf("-helpers: %w", err)
		}
	}
	if err := allowed.check(opts.runner != nil); err != nil {
		return fmt.Errorf("-allow: %w", err)
	}
	return nil
}

// findDirectories replaces the directories of -cwd and -root with the results of find. It fails if one does not exist.
func (opts *options) findDirectories(find func(string) (string, error)) (err error) {
	if opts.cwd, err = find(cmp.Or(opts.cwd, ".")); err != nil {
		return fmt.Errorf("-cwd: %w", err)
	}
	if opts.roots == nil {
		opts.roots = []string{opts.cwd}
		return nil
	}
	for i, root := range opts.roots {
		if opts.roots[i], err = find(root); err != nil {
			return fmt.Errorf("-root: %w", err)
		}
	}
	return nil
}

// directory returns the absolute path of an existing directory.
func directory(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return path, nil
}
