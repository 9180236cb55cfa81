// Package mcpserver serves the terminals of an acpterm.Manager to MCP clients.
package mcpserver
