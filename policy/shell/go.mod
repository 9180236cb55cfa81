module github.com/acpterm/acpterm/policy/shell

go 1.26.0

require (
	github.com/stretchr/testify v1.12.1 // indirect
	mvdan.cc/sh/v3 v3.14.1 // indirect
)
