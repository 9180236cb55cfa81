module github.com/acpterm/acpterm/view

go 1.26.0

require (
	github.com/acpterm/acpterm v0.1.0
	github.com/coder/websocket v1.8.15
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/oklog/ulid/v2 v2.1.2 // indirect
	github.com/sourcegraph/jsonrpc2 v0.2.3 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/acpterm/acpterm => ..
