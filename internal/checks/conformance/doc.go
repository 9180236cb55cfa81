// Package conformance checks acpterm's wire types against the published ACP v1 schema, and the messages of agents with
// their own terminals against the schemas of v1 and v2. testdata/schema has the parts about terminals and tool calls.
// The package also runs acpterm, and the MCP server of package mcpserver, with agents and a client built with the
// official SDKs of v1 and v2, and with agents and adapters of npm. It contains only tests, and is a separate module so
// that acpterm does not depend on the JSON Schema validator.
package conformance
