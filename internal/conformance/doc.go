// Package conformance holds the wire types of acpterm against the published ACP v1 schema, of which
// testdata/schema has the terminal part. It has tests only, and is a module of its own so that the
// JSON Schema validator is no dependency of acpterm.
package conformance
