package browsertest

// The pictures of the documents, taken at a release only. The commands are scripts of an example project. Every picture
// is of the page: cmd/acpterm and examples/editor run on a PTY there.

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// shopPrograms are the scripts by name.
var shopPrograms = map[string]string{
	"git": `test "$1" = status || exec sleep 600
printf ' M cart/checkout.go\n M cart/checkout_test.go\n?? notes.txt\n'`,
	"go":            "printf '" + goTest + "'; exit 1",
	"golangci-lint": "sleep 0.4; echo '0 issues.'",
	"npm": `test "$2" = build || exec sleep 600
printf '\033[36mvite v7.1.4\033[m \033[32mbuilding for production...\033[m\n\033[32m✓\033[m 1284 modules transformed.
\033[2mdist/\033[36massets/index-C2v8xk1d.css   \033[m\033[1m 48.12 kB \033[m│ gzip:   8.94 kB
\033[2mdist/\033[33massets/index-9sHn3RkQ.js    \033[m\033[1m538.24 kB \033[m│ gzip: 171.66 kB
\n\033[33m(!) Some chunks are larger than 500 kB after minification.\033[m\n\033[32m✓ built in 6.42s\033[m\n
\033[34mprecompress\033[m \033[32m━━━━━━━━━━━━━━━━━━━━━━━━━\033[m\033[2m━━━━━━━━━━━━━━━\033[m  64%%  3 of 5'; exec sleep 600`,
	"top": `for name in vite postgres gopls redis-server shop-api; do $name 600 & pids=$pids,$!; done
exec /usr/bin/top -d 1 -p "${pids#,}"`,
}

// makeShop makes the directory of the project, with its programs, those that top shows, and ours in bin.
func makeShop(t *testing.T) (dir, bin string) {
	dir = filepath.Join(os.TempDir(), "shop")
	bin = filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Cleanup(func() { os.RemoveAll(dir) })
	const module = "github.com/acpterm/acpterm"
	out, err := exec.Command("go", "build", "-o", bin+"/", module+"/cmd/acpterm", module+"/examples/editor",
		module+"/examples/agent").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, script := range shopPrograms {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	for _, name := range []string{"vite", "postgres", "gopls", "redis-server", "shop-api"} {
		require.NoError(t, os.Symlink(must(exec.LookPath("sleep")), filepath.Join(bin, name)))
	}
	return dir, bin
}

// screenshots returns the directory to write them to. Without one, it skips the test.
func screenshots(t *testing.T) string {
	to := os.Getenv("VIEW_SCREENSHOTS")
	if to == "" {
		t.Skip("VIEW_SCREENSHOTS names no directory to write them to")
	}
	return to
}

func TestScreenshots(t *testing.T) {
	to := screenshots(t)
	dir, bin := makeShop(t)
	m := acptermtest.NewManager(t, &acpterm.Options{
		Policy: denyRemovals, Commands: acpterm.CommandOptions{Dir: dir},
	})
	v := serve(t, m, &view.Options{Input: true, AllowStop: true})
	start := func(pty *acpterm.PTYOptions, session acpterm.SessionID, program string, args ...string) *acpterm.Terminal {
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: session, Command: program, Args: args,
			Env: []acpterm.EnvVariable{{Name: "PATH", Value: bin + ":" + os.Getenv("PATH")}},
		}, &acpterm.CommandOptions{PTY: pty})
		if program == "rm" {
			require.ErrorIs(t, err, acpterm.ErrDenied)
			return nil
		}
		require.NoError(t, err)
		return terminal
	}
	start(nil, "weekly-report", "git", "status", "--short").Wait(t.Context())
	start(nil, "checkout-fix", "go", "test", "-v", "./...").Wait(t.Context())
	start(nil, "checkout-fix", "rm", "-rf", "../backup")
	start(nil, "checkout-fix", "golangci-lint", "run").Wait(t.Context())
	dev := start(nil, "checkout-fix", "npm", "run", "dev")
	build := start(nil, "checkout-fix", "npm", "run", "build")
	b := startBrowser(t)
	p := b.open(t, v.url+"#"+v.key(build), look("light", 1280, 760, 1))
	p.until(`el.text.includes('64%')`)
	require.NoError(t, dev.Kill(t.Context()))
	p.until(`[...document.querySelectorAll('nav b')].some(b => b.textContent.startsWith('killed'))`)
	shoot(p, filepath.Join(to, "view-desktop-light.png"))

	top := start(&acpterm.PTYOptions{Columns: 90, Rows: 20, Attended: true}, "checkout-fix", "top")
	p = b.open(t, v.url+"#"+v.key(top), look("light", 1280, 560, 1))
	p.until(`el.text.startsWith('top - ') && el.text.includes('shop-api')`)
	p.focusScreen()
	shoot(p, filepath.Join(to, "view-top.png"))

	client := start(&acpterm.PTYOptions{Columns: 100, Rows: 20}, "client", "acpterm",
		"-prompt", "go test ./...; npm run build", "--", "agent")
	p = b.open(t, v.only(client), look("dark", 960, 420, 1))
	p.until(`/64%[^]* [2-9] s/.test(el.text)`)
	shootScreen(p, filepath.Join(to, "terminal-client.png"))

	editor := start(&acpterm.PTYOptions{Columns: 110, Rows: 30}, "editor", "editor", "agent")
	p = b.open(t, v.only(editor), look("dark", 1060, 600, 1))
	for _, step := range [][2]string{
		{"ready", "go test ./cart\r"}, {"Do not run it", "\x1b[A\r"},
		{`ready[^]*exit code 1[^]*FAIL`, "git push origin HEAD:checkout-fix\r"},
	} {
		p.until(`/` + step[0] + `/.test(el.text)`)
		must(editor.Write([]byte(step[1])))
	}
	p.until(`/git push[^]*Do not run it/.test(el.text)`)
	shootScreen(p, filepath.Join(to, "terminal-editor.png"))
	p.requireQuiet()
}

// shootScreen writes a screenshot of a program on a PTY, without the header of the page.
func shootScreen(p *page, file string) {
	eval[bool](p, `(part('header').style.display = 'none', true)`)
	shoot(p, file)
}

// shoot writes a screenshot after the page has been drawn.
func shoot(p *page, file string) {
	eval[bool](p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(file, png, 0o644))
}
