package browsertest

// A screenshot of top in the page.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

func TestScreenshotOfTop(t *testing.T) {
	screenshots := os.Getenv("VIEW_SCREENSHOTS")
	if screenshots == "" {
		t.Skip("VIEW_SCREENSHOTS names no directory to write them to")
	}
	top, err := exec.LookPath("top")
	require.NoError(t, err)

	// The programs of an example project, which top shows, and no others of this system.
	bin := t.TempDir()
	var pids []string
	for _, name := range []string{"vite", "postgres", "gopls", "caddy", "redis-server", "shop-api"} {
		path := filepath.Join(bin, name)
		what, args := "sleep", []string{"600"}
		if name == "vite" { // which is busy
			what, args = "sh", []string{"-c", "while :; do :; done"}
		}
		require.NoError(t, os.Symlink(must(exec.LookPath(what)), path))
		program := exec.Command(path, args...)
		require.NoError(t, program.Start())
		t.Cleanup(func() {
			program.Process.Kill()
			program.Wait()
		})
		pids = append(pids, fmt.Sprint(program.Process.Pid))
	}
	for name, script := range map[string]string{
		"top": fmt.Sprintf("exec %s \"$@\" -p %s", top, strings.Join(pids, ",")),
		"git": "echo ' M cart/checkout.go'",
		"npm": "exec sleep 600",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}

	dir := filepath.Join(os.TempDir(), "shop")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Cleanup(func() { os.Remove(dir) })
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Dir: dir}})
	v := serve(t, m, &view.Options{Input: true, AllowStop: true})
	create := func(pty *acpterm.PTYOptions, command string, args ...string) *acpterm.Terminal {
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "checkout-fix", Command: command, Args: args,
			Env: []acpterm.EnvVariable{{Name: "PATH", Value: bin + ":" + os.Getenv("PATH")}},
		}, &acpterm.CommandOptions{PTY: pty})
		require.NoError(t, err)
		return terminal
	}
	create(nil, "git", "status", "--short").Wait(t.Context())
	create(nil, "npm", "run", "dev")
	create(&acpterm.PTYOptions{Columns: 90, Rows: 20, Attended: true}, "top", "-d", "1")

	p := startBrowser(t).open(t, v.url, look("light", 1280, 560, 1))
	p.until(`el.text.startsWith('top - ') && el.text.includes('shop-api')`)
	p.until(`/[1-9][0-9.]* +[0-9.]+ +[0-9:.]+ vite/.test(el.text)`) // not the first numbers, which cover no time
	p.focusScreen()
	shoot(p, filepath.Join(screenshots, "view-top.png"))
	p.requireQuiet()
}
