package main

import (
	"testing"

	"github.com/acpterm/acpterm/remote"
	"github.com/stretchr/testify/require"
)

// What the far end says of itself is in no command line that a person might copy.
func TestNoHelper(t *testing.T) {
	for arch, known := range map[string]bool{"arm64": true, "touch x #": false, "$(touch x)": false, "riscv64": false} {
		err := noHelper(&remote.NoHelperError{System: "freebsd", Arch: arch})
		require.ErrorContains(t, err, "go install")
		if known {
			require.ErrorContains(t, err, "GOOS=freebsd GOARCH=arm64 go build -o DIR/acpterm-remote-freebsd-arm64 ")
		} else {
			require.NotContains(t, err.Error(), "GOARCH", arch)
		}
	}
	err := noHelper(&remote.NoHelperError{System: "x; touch y", Arch: "amd64"})
	require.NotContains(t, err.Error(), "GOOS")
}
