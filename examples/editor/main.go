// Editor is the terminal part of a small editor, as a program: a conversation with an agent, live terminals in panes, a
// dialog before a command runs, and a key that stops one.
//
//	go run ./examples/editor [-rules FILE] [-add DIR] [-mcp] [-view ADDRESS] [AGENT [ARG ...]]
//
// The editor asks the user about commands that no rule in FILE allows. FILE is JSON for policy.ParseRules. Commands run
// in the current directory, in each DIR and below. Without AGENT, the editor starts itself as the example agent, whose
// prompt is the command to run. After "self: ", the agent runs the command itself.
//
// With -mcp, agents that do not use terminal/* get the same terminals as tools of an MCP server. Agents do not say
// whether they use terminal/*, so this is a flag. With -view, a web page also shows all commands.
//
// The code for an editor's author is in editor.go, conversation.go, updates.go, session.go, tools.go, ask.go and
// pane.go: docs/embedding-an-editor.md explains it. The other files are the screen.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/acpterm/acpterm/cmd/exampleagent"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/policy"
)

// asExampleAgent, as the only argument, makes this program the example agent.
const asExampleAgent = "-as-example-agent"

// quitTimeout is how long commands and the agent have to end on their own when the user quits.
const quitTimeout = 3 * time.Second

const usage = `usage: editor [-rules FILE] [-add DIR] [-mcp] [-view ADDRESS] [AGENT [ARG...]]

Talks to an ACP agent on the terminal: live panes, a question before a command runs, and a key that stops one. The
default agent is an example, whose prompt is the command to run; after "self: ", the agent runs the command itself.

  editor
  editor some-agent --acp
  editor -mcp -rules rules.json some-agent --acp

`

func main() {
	mcpserver.RunRelay() // if an agent has started this program as its MCP server
	if slices.Equal(os.Args[1:], []string{asExampleAgent}) {
		exampleagent.Serve()
		return
	}
	if err := start(); err != nil {
		for text := range strings.Lines(err.Error()) { // may contain an agent's words
			fmt.Fprintln(os.Stderr, "editor:", display.Visible(strings.TrimSuffix(text, "\n"), 0))
		}
		os.Exit(1)
	}
}

// start reads the command line and runs the program on the terminal.
func start() error {
	var p program
	file := flag.String("rules", "", "a `file` with rules, as JSON, for commands that need no question")
	flag.BoolVar(&p.tools, "mcp", false, "also offer terminals as MCP tools, for agents that do not use terminal/*")
	flag.StringVar(&p.view, "view", "", "a local `address` for a live page with all commands, such as 127.0.0.1:0")
	flag.Func("add", "a `directory` that the session also has; may be repeated", func(dir string) error {
		dir, err := filepath.Abs(dir)
		p.additional = append(p.additional, dir)
		return err
	})
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stdout.Fd()) {
		return errors.New("standard input and output must be a terminal; cmd/acpterm needs none")
	}
	p.agent = flag.Args()
	var err error
	if p.dir, err = os.Getwd(); err != nil {
		return err
	}
	if *file != "" {
		data, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		if p.rules, err = policy.ParseRules(data); err != nil {
			return fmt.Errorf("%s: %w", *file, err)
		}
	}
	return p.run(context.Background())
}

// program holds the settings of a run.
type program struct {
	agent      []string // or empty for the example agent
	dir        string   // the project's directory
	additional []string // directories
	rules      policy.Rules
	tools      bool   // offer MCP tools
	view       string // the address of the live page, or empty
}

// run runs the program until the user quits, a signal ends it or ctx is done. It leaves no processes behind.
func (p program) run(ctx context.Context, options ...tea.ProgramOption) error {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	defer stop()
	screen := new(screen)
	editor, err := New(screen, p.rules)
	if err != nil {
		return err
	}
	url, err := p.listen(editor)
	if err != nil {
		return errors.Join(err, editor.Quit(ctx))
	}
	model := newModel(screen, editor, p.dir)
	model.agent, model.input.Placeholder = p.name()
	model.additional = p.additional
	if os.Getenv("NO_COLOR") != "" { // bubbletea accepts only 1 and true
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	screen.program = tea.NewProgram(model, append(options, tea.WithContext(ctx), tea.WithoutSignalHandler())...)
	slog.SetDefault(slog.New(slog.NewTextHandler(screen, nil)))
	if url != "" {
		model.say(entry{by: theEditor, text: "Watch at " + url})
	}
	if model.conversation, err = editor.StartAgent(ctx, p.command()); err != nil {
		return errors.Join(err, editor.Quit(ctx))
	}
	_, err = screen.program.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	again, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	if editor.Running() > 0 {
		fmt.Fprintln(os.Stderr, "editor: ending the commands that run; interrupt to end them at once")
	}
	again, cancel := context.WithTimeout(again, quitTimeout)
	defer cancel()
	return errors.Join(err, editor.Quit(again))
}

// listen begins to serve the tools and the live page, according to the flags. It returns the address of the page, or an
// empty one.
func (p program) listen(editor *Editor) (url string, err error) {
	if p.tools {
		if err := editor.OfferTools(); err != nil {
			return "", fmt.Errorf("-mcp: %w", err)
		}
	}
	if p.view != "" {
		if url, err = editor.ServePage(p.view); err != nil {
			return "", fmt.Errorf("-view: %w", err)
		}
	}
	return url, nil
}

// name returns the agent's name for the screen, and a hint for the prompt.
func (p program) name() (name, hint string) {
	if len(p.agent) == 0 {
		return "the example agent", "A command for the example agent to run, such as: go version"
	}
	return display.Visible(filepath.Base(p.agent[0]), 40), "A prompt for the agent"
}

// command returns the command that starts the agent.
func (p program) command() *exec.Cmd {
	words := p.agent
	if len(words) == 0 {
		self, _ := os.Executable()
		words = []string{cmp.Or(self, os.Args[0]), asExampleAgent}
	}
	return exec.Command(words[0], words[1:]...)
}
