module github.com/acpterm/acpterm/remote/ssh

go 1.26.0

require (
	github.com/acpterm/acpterm v0.1.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/crypto v0.58.0
)

require (
	github.com/kevinburke/ssh_config v1.6.0
	github.com/oklog/ulid/v2 v2.1.2 // indirect
	github.com/skeema/knownhosts v1.3.3
	github.com/sourcegraph/jsonrpc2 v0.2.3 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/acpterm/acpterm => ../..
