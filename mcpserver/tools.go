package mcpserver

// The tools, with their descriptions for models, and their annotations.
//
// Agents with many tools show a model only names until it searches, so the first sentences have the words that a model
// searches for: shell, command, terminal, output. The names stay short: agents put the server's name before them, and
// users' permissions contain them.

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// alwaysLoad asks Claude Code not to hide a tool behind a search.
func alwaysLoad() mcp.Meta { return mcp.Meta{"anthropic/alwaysLoad": true} }

func (c *session) addTools() {
	reads := &mcp.ToolAnnotations{
		ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false),
	}
	types := &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(true)}
	ends := &mcp.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true, OpenWorldHint: new(false)}
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "run", Title: "Run a command", Meta: alwaysLoad(),
		Description: "Runs a shell command in a terminal: a line as for bash, or a program with args. Returns when it " +
			"ends, or after wait_ms while it goes on in the background: use its id with wait, output, write and kill.",
		Annotations: types,
		InputSchema: runSchema(c.dir), OutputSchema: commandSchema(),
	}, c.run)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "write", Title: "Type into a command", Meta: alwaysLoad(),
		Description: "Types text and keys into a terminal command that run started with pty or stdin, such as a REPL. " +
			"Returns the output that follows, once the command waits for input or pauses.",
		Annotations: types, InputSchema: writeSchema(), OutputSchema: commandSchema(),
	}, c.write)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "wait", Title: "Wait for a command", Meta: alwaysLoad(),
		Description: "Waits until a terminal command ends, waits for input or listens on a port or, with until or " +
			"until_regexp, until a line of its output matches, but at most for wait_ms. Returns the new output.",
		Annotations: reads, InputSchema: waitSchema(), OutputSchema: commandSchema(),
	}, c.wait)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "output", Title: "Read a command's output", Meta: alwaysLoad(),
		Description: "Reads the output of a terminal command so far, without waiting. Long output is cut in the middle " +
			"unless show says otherwise.",
		Annotations: reads, InputSchema: outputSchema(), OutputSchema: commandSchema(),
	}, c.output)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "kill", Title: "Kill a command", Meta: alwaysLoad(),
		Description: "Kills a terminal command and all processes that it has started, gracefully first. Returns the new output.",
		Annotations: ends, InputSchema: idSchema(), OutputSchema: commandSchema(),
	}, c.kill)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "release", Title: "Forget a command", Meta: alwaysLoad(),
		Description: "Kills a terminal command, and forgets its output and id. The id \"ended\" means all that have ended.",
		Annotations: ends, InputSchema: idSchema(), OutputSchema: releaseSchema(),
	}, c.release)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "list", Title: "List commands", Meta: alwaysLoad(),
		Description: "Lists the terminal commands of this session that have not been released, the oldest first.",
		Annotations: reads, OutputSchema: listSchema(),
	}, c.list)
}
