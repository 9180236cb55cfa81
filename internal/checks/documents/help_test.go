package documents

// The help of each program fits on a screen, and shows commands to start with.

import (
	"os/exec"
	"path"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestHelpFitsOnAScreen(t *testing.T) {
	pages.AtRoot(t)
	programs := []string{"./cmd/acp-terminal-check", "./remote/cmd/acpterm-remote", "./cmd/acpterm-mcp",
		"./examples/agent", "./cmd/acpterm", "./examples/headless", "./examples/quickstart"}
	if runtime.GOOS == "linux" {
		programs = append(programs, "./soak", "./internal/checks/benchmarks", "./internal/checks/benchmarks/mcp")
	}
	for _, program := range programs {
		t.Run(path.Base(program), func(t *testing.T) {
			help, err := exec.Command("go", "run", program, "-h").CombinedOutput()
			require.NoError(t, err, "%s", help)
			require.True(t, strings.HasPrefix(string(help), "usage: "+path.Base(program)), "%s", help)
			commands := regexp.MustCompile(`(?m)^  (acpterm|`+path.Base(program)+`)( .*)?$`).FindAll(help, -1)
			require.Len(t, commands, 3, "%s", help)
			require.LessOrEqual(t, strings.Count(string(help), "\n"), 42, "%s", help)
		})
	}
}
