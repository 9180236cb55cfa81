package mcpserver

// The tools, with their descriptions for models, and their annotations.

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (c *session) addTools() {
	reads := &mcp.ToolAnnotations{
		ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false),
	}
	ends := &mcp.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true, OpenWorldHint: new(false)}
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "run", Title: "Run a command",
		Description: "Runs a shell line, or a program if args are given. Returns when the command ends, or after wait_ms " +
			"with its output so far. It then keeps running in the background: use its id with wait, output and kill.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(true)},
		InputSchema: runSchema(c.dir), OutputSchema: commandSchema(),
	}, c.run)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "wait", Title: "Wait for a command",
		Description: "Waits until a command ends or, if until or until_regexp is given, until a line of its output " +
			"matches, but at most for wait_ms. Returns the output from offset on. The command is not affected.",
		Annotations: reads, InputSchema: waitSchema(), OutputSchema: commandSchema(),
	}, c.wait)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "output", Title: "Read a command's output",
		Description: "Returns a command's output so far, from offset on, and next_offset to read on from later. " +
			"Long output is cut in the middle unless show says otherwise. Does not wait.",
		Annotations: reads, InputSchema: outputSchema(), OutputSchema: commandSchema(),
	}, c.output)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "kill", Title: "Kill a command",
		Description: "Ends a command and all processes that it has started, gracefully first and then by force. Returns " +
			"when they are gone. The output can still be read.",
		Annotations: ends, InputSchema: idSchema(), OutputSchema: commandSchema(),
	}, c.kill)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "release", Title: "Forget a command",
		Description: "Kills a command and all processes that it has started, and forgets its output. The id becomes " +
			"unknown. The id \"ended\" means all commands that have ended.",
		Annotations: ends, InputSchema: idSchema(), OutputSchema: releaseSchema(),
	}, c.release)
	mcp.AddTool(c.server, &mcp.Tool{
		Name: "list", Title: "List commands",
		Description: "Lists the commands of this session that have not been released, the oldest first.",
		Annotations: reads, OutputSchema: listSchema(),
	}, c.list)
}
