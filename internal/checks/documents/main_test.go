package documents

import (
	"testing"

	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }
