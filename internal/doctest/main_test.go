package doctest

import (
	"os"
	"testing"

	"github.com/acpterm/acpterm/internal/racetest"
)

// The tests are about the whole repository: names of files are from its root.
func TestMain(m *testing.M) {
	racetest.Restart() // before the directory changes
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
