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
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote"
	"github.com/acpterm/acpterm/usershell"
)

// options holds the values of the command line.
type options struct {
	help, version bool

	roots []string
	rules rules
	pty   verdict        // on commands that the agent types into
	input acpterm.Policy // the same, with the user's answers

	sandbox, network bool
	writable, hidden []string

	timeout  time.Duration
	idle     time.Duration // the longest time of silence and idleness
	limits   acpterm.Limits
	keep     int64
	maxText  int
	loginEnv bool
	shell    acpterm.Shell

	audit, view, archive, editor string

	journal *string // a directory, "" for none, or nil for the default

	runner  []string // the command line of a shell where commands run, or nil to run them here
	helpers string
}

const usage = `usage: acpterm-mcp [FLAG...] | init AGENT | doctor | open

Runs commands for an agent, as an MCP server on standard input and output. A command runs if -allow matches it;
otherwise the agent's program asks the user or, if it cannot, the command is denied. A RULE is a program, and
patterns for its arguments: 'go', 'git log ...', 'npm run *'. The command init adds the server to an agent, doctor says
what works here, and open opens the page of -view:

  acpterm-mcp init claude
  acpterm-mcp -root . -sandbox -others allow -timeout 10m -view 127.0.0.1:0
  acpterm-mcp -runner 'ssh host' -root /srv/app -allow 'make ...' -audit ~/audit.json

`

func readOptions(arguments []string) (opts options, err error) {
	flags := opts.flags()
	switch err := flags.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
		flags.VisitAll(func(f *flag.Flag) {
			argument, text := flag.UnquoteUsage(f)
			fmt.Printf("  -%-19s %s\n", f.Name+" "+argument, text)
		})
		opts.help = true
		return opts, nil
	case err != nil:
		return opts, fmt.Errorf("%w: %w (-h lists the flags)", errUsage, err)
	case flags.NArg() > 0:
		return opts, fmt.Errorf("%w: there is no argument %q (-h lists the flags)", errUsage, flags.Arg(0))
	}
	if opts.version {
		fmt.Println("acpterm-mcp", cmp.Or(version(), "(devel)"), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
		return opts, nil
	}
	if err := opts.check(); err != nil {
		return opts, fmt.Errorf("%w: %w", errUsage, err)
	}
	return opts, nil
}

// flags defines the flags that set opts.
func (opts *options) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("acpterm-mcp", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error should not drown in the usage
	list := func(name, usage string, to *[]string) {
		flags.Func(name, usage, func(text string) error { *to = append(*to, text); return nil })
	}
	list("root", "a `directory` for commands, the first one by default; repeatable (default: the current one)", &opts.roots)
	opts.rules.flags(flags)
	flags.Func("pty", "the `verdict` on commands that the agent types into, which no rule can see: ask, deny or allow "+
		"(default: ask, or allow with -others allow and no rules)", opts.pty.set)
	flags.BoolVar(&opts.sandbox, "sandbox", false,
		"run commands with bubblewrap (on Linux): no network, and writes only to the roots")
	flags.BoolVar(&opts.network, "network", false, "allow the network in the sandbox")
	list("writable", "another `path` for writes in the sandbox, such as a compiler's cache; repeatable", &opts.writable)
	list("hidden", "a `path` that commands cannot read in the sandbox, such as ~/.ssh; repeatable", &opts.hidden)
	flags.DurationVar(&opts.timeout, "timeout", 0, "the longest `duration` of a command and what it leaves running (default: no limit)")
	flags.DurationVar(&opts.idle, "idle-timeout", 0,
		"the longest `duration` for which a command may be silent and idle (default: no limit)")
	flags.DurationVar(&opts.limits.CPUTime, "cpu", 0, "the most CPU time of a process, a `duration` (default: no limit)")
	flags.Func("memory", "the most memory of a process, in `MiB` (default: no limit)", opts.setMemory)
	flags.IntVar(&opts.limits.Processes, "processes", 0, "the most processes, a `number` (default: no limit)")
	flags.Int64Var(&opts.keep, "keep", 0, "the `bytes` of output to keep of each command (default: 1 MiB)")
	flags.IntVar(&opts.maxText, "text", 0, "the most `bytes` of output in a result, for the model (default: 16 KiB)")
	flags.BoolVar(&opts.loginEnv, "login-env", false, "run commands with the environment of your login shell")
	flags.Func("shell", "the shell for shell lines: a `name` such as bash, zsh, fish or pwsh (default: sh or cmd)",
		func(name string) (err error) {
			opts.shell, err = usershell.KnownShell(name)
			return err
		})
	flags.StringVar(&opts.audit, "audit", "", "a `file` outside the roots that records each decision and end as JSON")
	flags.Func("journal", "a `directory` for records of commands, to end those that a crash leaves behind; '' for none",
		func(dir string) error {
			opts.journal = &dir
			return nil
		})
	flags.StringVar(&opts.archive, "archive", "",
		"a `directory` outside the roots that keeps ended commands for the page of -view, up to 256 MiB and 30 days")
	flags.StringVar(&opts.view, "view", "", "a local `address` for a live page, such as 127.0.0.1:0; its URL is on stderr")
	flags.StringVar(&opts.editor, "editor", "",
		"open files that the page links, by a `command` such as 'code -g {file}:{line}' or an address such as\n"+
			"vscode://file{file}:{line}")
	flags.Func("runner", "run commands through a remote POSIX shell, started by a `command` such as 'ssh host'",
		func(line string) (err error) {
			opts.runner, err = remote.Split(line)
			return err
		})
	flags.StringVar(&opts.helpers, "helpers", "",
		"a `directory` with acpterm-remote-linux-amd64 and the like, for -runner (default: the remote PATH)")
	flags.BoolVar(&opts.version, "version", false, "print the version")
	return flags
}

func (opts *options) setMemory(text string) error {
	var n int64
	if _, err := fmt.Sscanf(text+"\n", "%d\n", &n); err != nil || n <= 0 || n > 1<<40 {
		return errors.New("is a positive number of MiB")
	}
	opts.limits.Memory = n << 20
	return nil
}

// maxKeep is the most output that a Manager keeps of a command by default, in bytes.
const maxKeep = 16 << 20

// checkLimits fails for a number out of its range, and names the flag.
func (opts *options) checkLimits() error {
	for _, limit := range []struct {
		flag  string
		value int64
	}{
		{"timeout", int64(opts.timeout)}, {"idle-timeout", int64(opts.idle)}, {"cpu", int64(opts.limits.CPUTime)},
		{"processes", int64(opts.limits.Processes)}, {"text", int64(opts.maxText)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("-%s must not be negative", limit.flag)
		}
	}
	if opts.keep < 0 || opts.keep > maxKeep {
		return fmt.Errorf("-keep must be between 0 and %d bytes (16 MiB)", maxKeep)
	}
	return nil
}

// check completes the options, and fails for invalid values and combinations.
func (opts *options) check() (err error) {
	if err := opts.checkLimits(); err != nil {
		return err
	}
	far := opts.runner != nil
	switch {
	case !opts.sandbox && (opts.network || opts.writable != nil || opts.hidden != nil):
		return errors.New("-network, -writable and -hidden need -sandbox")
	case far && (opts.loginEnv || opts.hasJournal() || opts.rules.redirect):
		return errors.New("-login-env, -journal and -redirect cannot be used with -runner")
	case opts.helpers != "" && !far:
		return errors.New("-helpers needs -runner")
	}
	if err = opts.findPaths(); err != nil {
		return err
	}
	if !far {
		err = opts.findRoots()
	}
	if err == nil && opts.hasJournal() {
		if err = outside(*opts.journal, opts.written()); err != nil {
			err = fmt.Errorf("-journal: %w", err)
		}
	}
	if err == nil && opts.view != "" {
		opts.view, err = loopback(opts.view)
	}
	if err != nil {
		return err
	}
	if !far && !opts.loginEnv { // otherwise, PATH is not known yet
		err = opts.rules.missing()
	}
	if err == nil {
		_, err = opts.rules.policy(far, nil)
	}
	return err
}

// hasJournal reports whether -journal names a directory.
func (opts *options) hasJournal() bool { return opts.journal != nil && *opts.journal != "" }

// findPaths makes the paths on this machine absolute, except for the roots. With -runner, those of the sandbox are
// remote.
func (opts *options) findPaths() (err error) {
	paths := []*string{&opts.audit, &opts.archive, &opts.helpers}
	if opts.journal != nil {
		paths = append(paths, opts.journal)
	}
	for _, list := range [][]string{opts.writable, opts.hidden} {
		for i := range list {
			if opts.runner == nil {
				paths = append(paths, &list[i])
			}
		}
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(home(*path)); err != nil {
			return err
		}
	}
	return nil
}

// findRoots makes the roots absolute. The default is the current directory.
func (opts *options) findRoots() (err error) {
	if opts.roots == nil {
		opts.roots = []string{"."}
	}
	for i, root := range opts.roots {
		if opts.roots[i], err = filepath.Abs(home(root)); err != nil {
			return err
		}
		if info, err := os.Stat(opts.roots[i]); err != nil || !info.IsDir() {
			return fmt.Errorf("-root: %s is not a directory", opts.roots[i])
		}
	}
	return nil
}

// home replaces a leading ~. The configuration files of agents start this program without a shell.
func home(path string) string {
	rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/")
	if dir, err := os.UserHomeDir(); ok && err == nil {
		return filepath.Join(dir, rest)
	}
	return path
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
