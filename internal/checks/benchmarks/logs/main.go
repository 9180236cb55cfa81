// Logs prints how many tokens a model reads if a command writes a log and fails, as a Markdown table:
//
//	go run ./internal/checks/benchmarks/logs 'tsc.log:error TS' 'pytest.log:^E  '
//
// Each argument is a file and, after a colon, a regular expression for its lines about errors. The columns are the
// whole log, the result of mcpserver's tool run, and the most that the shell tools of agents return of the same log. A
// token is four bytes. "no error" marks a result that lacks the first line that matches the expression.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "logs:", err)
		os.Exit(1)
	}
}

// A cut is how an agent's shell tool shortens long output: to most bytes, with head bytes from the beginning.
type cut struct {
	name       string
	most, head int
}

// The limits of the agents' own tools, by default. Characters count as bytes.
var cuts = []cut{
	{"Claude Code", 30_000, 15_000}, // characters, without the middle
	{"Codex", 40_000, 20_000},       // 10,000 tokens, without the middle
	{"Gemini CLI", 40_000, 8_000},   // 40,000 characters, the first fifth of them from the beginning
	{"opencode", 50 << 10, 0},       // the last 50 KiB or 2,000 lines
}

func (c cut) of(log string) string {
	if len(log) <= c.most {
		return log
	}
	return log[:c.head] + log[len(log)-c.most+c.head:]
}

func run(ctx context.Context, arguments []string) error {
	manager, err := acpterm.NewManager(nil)
	if err != nil {
		return err
	}
	defer manager.Close()
	server := mcpserver.New(manager, nil)
	defer server.Close()
	here, there := mcp.NewInMemoryTransports()
	go server.Run(ctx, there)
	client := mcp.NewClient(&mcp.Implementation{Name: "logs", Version: "1"}, nil)
	session, err := client.Connect(ctx, here, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	fmt.Print("| | whole | acpterm-mcp |")
	for _, c := range cuts {
		fmt.Print(" ", c.name, " |")
	}
	fmt.Println("\n|---|" + strings.Repeat("---|", len(cuts)+2))
	for _, argument := range arguments {
		if err := row(ctx, session, argument); err != nil {
			return fmt.Errorf("%s: %w", argument, err)
		}
	}
	return nil
}

// row prints the row of a log.
func row(ctx context.Context, session *mcp.ClientSession, argument string) error {
	name, expression, _ := strings.Cut(argument, ":")
	isError, err := regexp.Compile("(?m)" + expression)
	if err != nil {
		return err
	}
	log, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "run", Arguments: map[string]any{
		"command": `cat -- "$LOG"; exit 1`, "env": map[string]string{"LOG": name},
	}})
	if err != nil {
		return err
	}
	text := ""
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	first := ""
	if at := isError.FindIndex(log); at != nil {
		first, _, _ = strings.Cut(string(log[at[0]:]), "\n")
	}
	cell := func(shown string) string {
		note := ""
		if !strings.Contains(shown, strings.TrimRight(first, "\r")) {
			note = ", no error"
		}
		return fmt.Sprintf(" %d%s |", len(shown)/4, note)
	}
	fmt.Printf("| %s |%s%s", name, cell(string(log)), cell(text))
	for _, c := range cuts {
		fmt.Print(cell(c.of(string(log))))
	}
	fmt.Println()
	return nil
}
