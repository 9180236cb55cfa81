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
	"slices"
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
	limit  int64
	agent  []string

	roots     []string
	rules     *policy.Rules // or nil if everything may run
	variables []string      // that the agent may set, in addition to policy.SafeVariables
	ask       bool
	timeout   time.Duration
	audit     string
	sandbox   bool
	network   bool
	loginEnv  bool
	view      string
	colour    string // colourAuto, colourAlways or colourNever
	shell     acpterm.Shell

	runner  []string // the command line of a shell where commands run, or nil to run them here
	helpers string   // the directory of helpers for there, or "" to find or build one
}

const usage = `usage: client [FLAG...] [-- AGENT ARG...]

Gives a prompt to an ACP agent, and shows what it says and what it runs. Without AGENT that is the example agent,
whose prompt is the command to run, or "self: " and a command that it runs itself.

Commands run in the roots and below, and else as they like. Each flag takes something from them, and none from those
that the agent runs itself, which are shown with [agent 1] if it tells of them:

  client -allow go -allow 'git log ...' -prompt 'go vet'   only what these rules allow
  client -allow go -ask -prompt 'git push'                 what they do not allow is asked on the terminal
  client -view 127.0.0.1:0 -prompt 'npm test'              watch it, and stop it, in a browser
  client -sandbox -timeout 5m -audit ~/audit.json          no network, no writing elsewhere; all of it on record
  client -runner 'ssh host' -cwd src -prompt 'make'        they run on another machine, in a directory of it

`

func readOptions() (options, error) {
	self, err := os.Executable()
	if err != nil {
		return options{}, err
	}
	opts := options{agent: []string{self, asExampleAgent}, colour: colourAuto}
	var allowed allowances
	flags := opts.flags(&allowed)
	switch err := flags.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
		fmt.Print(exitHelp())
		os.Exit(0)
	case err != nil:
		return options{}, fmt.Errorf("%w (-h lists the flags)", err)
	case flags.NArg() > 0:
		opts.agent = flags.Args()
	}
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
		return options{}, errors.New("the prompt is empty")
	}
	return opts, nil
}

// flags defines the flags that set opts and allowed.
func (opts *options) flags(allowed *allowances) *flag.FlagSet {
	flags := flag.NewFlagSet("client", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error should not drown in the usage
	flags.StringVar(&opts.cwd, "cwd", "",
		"the `directory` that the agent works in (default: the first -root, or this one;\n"+
			"with -runner the home directory there)")
	flags.StringVar(&opts.prompt, "prompt", "", "the `text` to give to the agent (default: what standard input has)")
	flags.Int64Var(&opts.limit, "limit", 0,
		"how many `bytes` of output to keep where the agent does not say (default: the library's)")
	flags.Func("root", "a `directory` that commands may run in and below, and write to with -sandbox; may be\n"+
		"repeated (default: that of -cwd)", func(dir string) error {
		opts.roots = append(opts.roots, dir)
		return nil
	})
	flags.Func("allow", "a `rule` for what may run; may be repeated (default: everything may, unless -ask is given).\n"+
		"'go' is that program with any arguments, 'git status' with these, 'git log ...' with these and more;\n"+
		"in arguments * stands for any text. @FILE has rules as JSON. Shell lines, such as 'go vet && git push',\n"+
		"match no rule, and the agent may set only variables that are safe, such as CI: what is not so is\n"+
		"denied, or asked about with -ask", allowed.add)
	flags.Func("variable",
		"a variable that the agent may set besides those that are safe; may be repeated. A `name`, in\n"+
			"which * stands for any text, or NAME=VALUE. For -allow and -ask, without which commands may set\n"+
			"any, and for signing in", func(text string) error {
			if text == "" || strings.HasPrefix(text, "=") {
				return errors.New("the name is empty")
			}
			opts.variables = append(opts.variables, text)
			return nil
		})
	flags.BoolVar(&opts.ask, "ask", false,
		"ask on the terminal about what no -allow allows; what a rule of @FILE denies stays denied")
	flags.DurationVar(&opts.timeout, "timeout", 0,
		"the `duration` that a command may run for, such as 90s (default: no limit)")
	flags.StringVar(&opts.audit, "audit", "",
		"a `file`, outside of the roots, to add a line of JSON to for each command that is allowed,\n"+
			"denied or over; a command whose line cannot be written does not run")
	flags.BoolVar(&opts.sandbox, "sandbox", false,
		"run commands with bubblewrap (Linux): they write to the roots and nothing else, a compiler's cache\n"+
			"for instance being a -root too; see no processes but their own; and have no network")
	flags.BoolVar(&opts.network, "network", false, "let commands in the sandbox use the network")
	flags.Func("shell",
		"what runs shell lines, looked up in PATH: a `name` such as bash, bash-login, zsh, fish or pwsh, on\n"+
			"Windows also powershell, cmd, wsl or git-bash (default: /bin/sh, or cmd on Windows)",
		func(name string) (err error) {
			opts.shell, err = usershell.KnownShell(name)
			return err
		})
	flags.BoolVar(&opts.loginEnv, "login-env", false,
		"give commands the environment of your login shell, with the PATH that its start-up files make, and not\n"+
			"this one; if it cannot be read, this one, and why is on standard error")
	flags.Func("runner",
		"a `command` line that gives a POSIX shell somewhere else, where commands run then, such as 'ssh host',\n"+
			"'docker exec -i NAME sh' or 'kubectl exec -i POD -- sh'; -cwd and -root are directories there, and\n"+
			"-allow is about programs there. It is not run by a shell here, and is asked nothing on the terminal.\n"+
			"acpterm-remote is taken that is in PATH there, or one is copied there, by -helpers", opts.setRunner)
	flags.StringVar(&opts.helpers, "helpers", "",
		"a `directory` with files such as acpterm-remote-linux-amd64 for -runner (default: they are built with\n"+
			"the go command when one is needed)")
	flags.StringVar(&opts.view, "view", "",
		"an `address` of this machine, such as 127.0.0.1:0, to serve a live page of the terminals at,\n"+
			"also after the turn, until an interrupt")
	flags.Func("color", "`when` to show the colours of commands: auto, on a terminal and without NO_COLOR in the\n"+
		"environment; always; or never (default: auto). Other sequences are never shown", func(when string) error {
		if !slices.Contains([]string{colourAuto, colourAlways, colourNever}, when) {
			return errors.New("is auto, always or never")
		}
		opts.colour = when
		return nil
	})
	return flags
}

// check fails for invalid flags and for invalid combinations.
func (opts *options) check(allowed *allowances) error {
	switch {
	case opts.timeout < 0:
		return errors.New("-timeout: must not be negative")
	case opts.network && !opts.sandbox:
		return errors.New("-network: is for -sandbox; without that there is a network")
	case opts.sandbox && opts.runner != nil:
		return errors.New("-sandbox: is for commands here, and not for -runner: have that lead into one")
	case opts.loginEnv && opts.runner != nil:
		return errors.New("-login-env: is for commands here, and not for -runner")
	case opts.helpers != "" && opts.runner == nil:
		return errors.New("-helpers: is for -runner; without that commands run here")
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

// asExampleAgent, as the first argument, makes this program the example agent.
const asExampleAgent = "-as-example-agent"

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
