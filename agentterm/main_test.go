package agentterm_test

import (
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, nil) }
