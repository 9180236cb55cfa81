package doctest

import (
	"os"
	"testing"

	"github.com/acpterm/acpterm/internal/racetest"
)

// The tests are about the whole repository: names of files are from its root.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	racetest.Main(m)
}
