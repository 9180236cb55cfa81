// Package conformance holds the wire types of acpterm against the published ACP v1 schema, and the messages of agents
// with terminals of their own against those of v1 and v2. testdata/schema has the parts about terminals and tool calls.
// acpterm talks there with agents and a client that are made with the official SDKs, of v1 and v2. It has tests only,
// and is a module of its own so that the JSON Schema validator is no dependency of acpterm.
package conformance
