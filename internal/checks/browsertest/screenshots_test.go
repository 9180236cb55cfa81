package browsertest

// The pictures of the documents, taken at a release only. The commands are scripts of an example project. The pictures
// are of the page, where cmd/acpterm and examples/editor run on a PTY. Only the picture of README.md is made without a
// browser: an animated recording of examples/quickstart.

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: denyRemovals, Commands: acpterm.CommandOptions{Dir: dir}})
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

// recorded is a line of output and the time of its arrival.
type recorded struct {
	text string
	at   time.Duration
}

// record runs examples/quickstart.
func record(t *testing.T) (lines []recorded) {
	program := filepath.Join(t.TempDir(), "quickstart")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/acpterm/acpterm/examples/quickstart")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), program)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	begun := time.Now()
	for s := bufio.NewScanner(output); s.Scan(); {
		lines = append(lines, recorded{s.Text(), time.Since(begun)})
	}
	require.NoError(t, cmd.Wait())
	return lines
}

// animate returns an SVG in which the lines appear one after the other, at readable speed, again and again.
func animate(command string, lines []recorded) string {
	const width, lineHeight, pause = 820, 20, 700 * time.Millisecond
	var at []time.Duration
	for i, l := range lines {
		at = append(at, max(l.at, time.Duration(i+1)*pause))
	}
	total := at[len(at)-1] + 4*time.Second
	height := lineHeight*(len(lines)+1) + 24
	var b, style strings.Builder
	row := func(i int, class, text string) {
		fmt.Fprintf(&b, `<text class="%s" x="14" y="%d">`, class, 26+i*lineHeight)
		xml.EscapeText(&b, []byte(text))
		b.WriteString("</text>\n")
	}
	row(0, "typed", "$ "+command)
	for i, l := range lines {
		speaker, _, _ := strings.Cut(l.text, " ")
		row(i+1, fmt.Sprintf("%s l%d", speaker, i), l.text)
		shown := 100 * float64(at[i]) / float64(total)
		fmt.Fprintf(&style, "@keyframes k%d{0%%,%.2f%%{opacity:0}%.2f%%,100%%{opacity:1}}.l%d{animation:k%d %.1fs infinite}\n",
			i, shown, shown+0.01, i, i, total.Seconds())
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d0d7de;white-space:pre}
.agent{fill:#79c0ff}.typed{fill:#fff;font-weight:bold}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
%s</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
%s</svg>
`, width, height, width, height, style.String(), b.String())
}

func TestRecordingScreenshot(t *testing.T) {
	dir := screenshots(t)
	picture := animate("go run ./examples/quickstart", record(t))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "quickstart.svg"), []byte(picture), 0o644))
}
