package acpterm_test

import (
	"maps"
	"testing"
)

func TestMain(m *testing.M) {
	own := make(map[string]func(args []string))
	maps.Copy(own, systemChildren())
	maps.Copy(own, loginChildren())
	runTests(m, own)
}
