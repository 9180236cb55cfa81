//go:build unix

package archive_test

// Programs with an archive that are killed, and started again.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/archive"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "archiving-host" {
		if err := host(os.Args[2]); err != nil {
			panic(err)
		}
		return
	}
	racetest.Main(m)
}

// host runs commands and archives them, until it is killed. It prints the number of each command once it is archived.
func host(dir string) error {
	a, err := archive.Open(dir, nil)
	if err != nil {
		return err
	}
	m, err := acpterm.NewManager(nil)
	if err != nil {
		return err
	}
	a.Keep(m, "")
	ctx := context.Background()
	for i := 0; ; i++ {
		t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: fmt.Sprintf("seq %d", 10_000+i)}, nil)
		if err != nil {
			return err
		}
		if _, err := t.Wait(ctx); err != nil {
			return err
		}
		if err := m.Release(ctx, "s", t.ID()); err != nil {
			return err
		}
		for i%4 == 0 && a.Find("", "s", t.ID()) == nil {
			time.Sleep(time.Millisecond)
		}
		fmt.Println(i)
	}
}

func TestAKilledProgramLeavesWholeTerminals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	for run := range 3 {
		cmd := exec.Command(os.Args[0], "archiving-host", dir)
		cmd.Stderr = os.Stderr
		_, stdout := leaktest.StartPiped(t, cmd)
		lines := bufio.NewReader(stdout)
		for range 10 + 7*run {
			_, err := lines.ReadString('\n')
			require.NoError(t, err)
		}
		require.NoError(t, cmd.Process.Kill())
		io.Copy(io.Discard, lines)
		cmd.Wait()

		a, err := archive.Open(dir, nil)
		require.NoError(t, err)
		require.Empty(t, a.Skipped())
		require.Greater(t, len(a.Terminals()), 3*(run+1)) // the first of each four, at least
		for _, terminal := range a.Terminals() {
			require.True(t, terminal.Earlier())
			raw, missed := output(t, terminal, 0)
			require.Zero(t, missed)
			last := strings.TrimPrefix(terminal.Info().Command.ShellLine, "seq ")
			require.True(t, strings.HasSuffix(raw, "\n"+last+"\n"), last)
		}
		require.NoError(t, a.Close())
	}
}
