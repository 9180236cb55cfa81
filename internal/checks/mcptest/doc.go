// Package mcptest runs package mcpserver and the program acpterm-mcp with MCP clients whose code is not of the Go SDK:
// one made with the official TypeScript SDK, the inspector, and the official conformance suite. It records the messages
// on the wire and checks them against MCP's published schema. The package contains only tests, and is a separate module
// so that mcpserver does not depend on the JSON Schema validator.
package mcptest
