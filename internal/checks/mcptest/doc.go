// Package mcptest runs package mcpserver and the program acpterm-mcp with MCP clients whose code is not of the Go SDK:
// one made with the official TypeScript SDK, which checks messages and the tools' results against their schemas, and the
// official conformance suite. The package contains only tests.
package mcptest
