module github.com/acpterm/acpterm/soak

go 1.26.0

require (
	github.com/acpterm/acpterm v0.1.0
	github.com/sourcegraph/jsonrpc2 v0.2.3
	golang.org/x/sys v0.49.0
)

require github.com/oklog/ulid/v2 v2.1.2 // indirect

replace github.com/acpterm/acpterm => ..
