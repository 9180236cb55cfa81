module github.com/acpterm/acpterm/internal/checks

go 1.26.0

require (
	github.com/acpterm/acpterm v0.1.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/acpterm/acpterm => ../..
