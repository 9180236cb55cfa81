package browsertest

// Pictures of cmd/acpterm and examples/editor in a terminal, with a scripted agent and commands. They are SVG, and
// made without a browser.

import (
	"context"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/ptytest"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// picturedAgent is an agent on standard input and output that runs commands of the shop, and pushes if it is told to.
func picturedAgent() {
	handler := func(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		call := func(method string, params any) (id acpterm.TerminalID) {
			var created acpterm.CreateTerminalResponse
			conn.Call(ctx, method, params, &created) // errors are not pictured
			return created.TerminalID
		}
		say := func(text string) {
			conn.Notify(ctx, "session/update", map[string]any{"sessionId": "s", "update": map[string]any{
				"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": text}}})
		}
		create := func(program string, args ...string) acpterm.TerminalRequest {
			return acpterm.TerminalRequest{SessionID: "s", TerminalID: call(acpterm.MethodCreate,
				acpterm.CreateTerminalRequest{SessionID: "s", Command: program, Args: args})}
		}
		switch req.Method {
		case "initialize":
			return map[string]any{"protocolVersion": 1, "agentInfo": map[string]string{"name": "example agent"}}, nil
		case "session/new":
			return map[string]string{"sessionId": "s"}, nil
		case "session/prompt":
			say("I look for mistakes, run the tests and build the shop.\n")
			create("npm", "run", "build")
			call(acpterm.MethodWaitForExit, create("golangci-lint", "run"))
			call(acpterm.MethodWaitForExit, create("go", "test", "./..."))
			say("The total with a voucher is wrong: it is rounded before the discount instead of after it. I correct that" +
				" in cart/checkout.go, and begin with the tests again.\n")
			if strings.Contains(string(*req.Params), "push") {
				create("git", "push", "origin", "HEAD:checkout-fix")
			} else {
				create("go", "test", "-run", "TestCheckout", "-count", "100", "./cart")
			}
			<-conn.DisconnectNotify()
		}
		return nil, nil
	}
	stdio := jsonrpc2.NewPlainObjectStream(agentproc.JoinStdio(os.Stdin, os.Stdout))
	conn := jsonrpc2.NewConn(context.Background(), stdio,
		jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(handler)))
	<-conn.DisconnectNotify()
}

// picturedCommands are the shell scripts that the agent runs.
var picturedCommands = map[string]string{
	"golangci-lint": "sleep 0.4; echo '0 issues.'",
	"go": `test "$2" = -run && exec sleep 600; sleep 0.9; printf '\033[31m--- FAIL: TestCheckout/with_voucher (0.01s)\033[m
    checkout_test.go:58: total = 41.70, want 39.70
\033[31mFAIL\033[m	shop.example/cart	0.031s
\033[32mok\033[m  	shop.example/catalog	0.412s
'; exit 1`,
	"npm": `printf '\033[36mvite v7.1.4\033[m \033[32mbuilding for production...\033[m\n\033[32m✓\033[m 1284 modules transformed.
\033[2mprecompress\033[m \033[32m━━━━━━━━━━━━━━━━━━━━━━━━━\033[m\033[2m━━━━━━━━━━━━━━━\033[m  64%%  3 of 5'; exec sleep 600`,
	"git": "exec sleep 600",
}

// pictured is a program in a terminal.
type pictured struct {
	*ptytest.Window
	t        *testing.T
	emulator *vt.Emulator // in functions passed to Until and Do
}

// picturedShop makes the directory of a project with the programs in bin.
func picturedShop(t *testing.T) (dir, bin string) {
	dir = filepath.Join(os.TempDir(), "shop")
	bin = filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Cleanup(func() { os.RemoveAll(dir) })
	out, err := exec.Command("go", "build", "-o", bin+"/", "github.com/acpterm/acpterm/cmd/acpterm",
		"github.com/acpterm/acpterm/examples/editor").CombinedOutput()
	require.NoError(t, err, "%s", out)
	self, err := os.Executable()
	require.NoError(t, err)
	scripts := maps.Clone(picturedCommands)
	scripts["example-agent"] = "exec " + self + " child pictured-agent"
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	return dir, bin
}

// runPictured runs a program with the agent in a terminal, in the directory of a project. flags are before the agent.
func runPictured(t *testing.T, columns, rows int, dir, bin, program string, flags ...string) *pictured {
	p := &pictured{t: t, emulator: vt.NewEmulator(columns, rows)}
	go io.Copy(io.Discard, struct{ io.Reader }{p.emulator})
	t.Cleanup(func() { p.emulator.InputPipe().(io.Closer).Close() })
	p.Window = ptytest.Start(t, ptytest.Command{
		Args: slices.Concat([]string{filepath.Join(bin, program)}, flags,
			[]string{filepath.Join(bin, "example-agent")}),
		Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=", "CI=", "NO_COLOR="},
		Dir: dir, Columns: columns, Rows: rows,
	}, func(output []byte) { p.emulator.Write(output) })
	return p
}

// until waits until the terminal shows a text that matches.
func (p *pictured) until(pattern string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), timeout)
	defer cancel()
	expr := regexp.MustCompile(pattern)
	if !p.Until(ctx, func() bool { return expr.MatchString(p.emulator.String()) }) {
		p.Do(func() { require.FailNow(p.t, "the terminal never shows this", "%s\n%s", pattern, p.emulator) })
	}
}

// press types keys.
func (p *pictured) press(keys string) { p.Type(p.t, keys) }

// These colours are those of a dark terminal.
const ink, paper = "#d0d7de", "#0d1117"

var basicColours = strings.Fields("#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 " +
	"#6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #ffffff")

// hex returns a colour for SVG.
func hex(c color.Color, none string) string {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return basicColours[c]
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// svg draws the terminal as a window with a title.
func (p *pictured) svg(title string) (svg string) {
	p.Do(func() { svg = p.draw(title) })
	return svg
}

func (p *pictured) draw(title string) string {
	const cell, line, left, top = 8.4, 18, 14, 44
	width, height := float64(p.emulator.Width())*cell+2*left, p.emulator.Height()*line+top+8
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">
<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}</style>
<rect width="100%%" height="100%%" rx="8" fill="%s"/><path d="M0 30V8a8 8 0 0 1 8-8h%da8 8 0 0 1 8 8v22z" fill="#21262d"/>
<text x="50%%" y="20" text-anchor="middle" fill="#8b949e">%s</text>
`, int(width), height, paper, int(width)-16, title)
	for y := range p.emulator.Height() {
		for x := 0; x < p.emulator.Width(); {
			begin, style, text := x, p.emulator.CellAt(x, y).Style, ""
			for ; x < p.emulator.Width() && p.emulator.CellAt(x, y).Style.Equal(&style); x++ {
				text += p.emulator.CellAt(x, y).Content
			}
			drawRun(&b, style, text, left+float64(begin)*cell, top+y*line, float64(x-begin)*cell)
		}
	}
	if at := p.emulator.CursorPosition(); !p.emulator.CursorHidden() {
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="8" height="17" fill="%s" opacity=".6"/>`+"\n",
			left+float64(at.X)*cell, top+at.Y*line-1, ink)
	}
	return b.String() + "</svg>\n"
}

// drawRun draws text of one style, whose columns are at their places with any font.
func drawRun(b *strings.Builder, style uv.Style, text string, x float64, y int, width float64) {
	front, back := hex(style.Fg, ink), hex(style.Bg, paper)
	if style.Attrs&uv.AttrReverse != 0 {
		front, back = back, front
	}
	if back != paper {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"/>`+"\n", x, y-1, width, back)
	}
	if text = strings.ReplaceAll(text, "\u00a0", " "); strings.TrimSpace(text) == "" {
		return
	}
	columns := ansi.StringWidth(text)
	blank := len(text) - len(strings.TrimLeft(text, " "))
	text = strings.TrimSpace(text)
	more := ""
	if style.Attrs&uv.AttrBold != 0 {
		more += ` font-weight="bold"`
	}
	if style.Attrs&uv.AttrFaint != 0 {
		more += ` opacity=".6"`
	}
	each := width / float64(columns)
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s"%s>`,
		x+float64(blank)*each, y+13, float64(ansi.StringWidth(text))*each, front, more)
	xml.EscapeText(b, []byte(text))
	b.WriteString("</text>\n")
}

func TestTerminalScreenshots(t *testing.T) {
	dir := os.Getenv("VIEW_SCREENSHOTS")
	if dir == "" {
		t.Skip("VIEW_SCREENSHOTS names no directory to write them to")
	}
	shop, bin := picturedShop(t)
	client := runPictured(t, 96, 19, shop, bin, "acpterm", "-prompt", "Correct the total.", "--")
	client.until(`(?m)^\[4\] \$ go test -run .* [2-9] s$`)
	editor := runPictured(t, 120, 34, shop, bin, "editor")
	editor.until(`ready`)
	editor.press("Correct the total, and push it.\r")
	for _, program := range []string{"npm", "golangci-lint", "go"} {
		editor.until(`/bin/` + program + `"(.|\n)*▸ Do not run it`)
		editor.press("\x1b[A\r")
	}
	editor.until(`/bin/git"(.|\n)*▸ Do not run it`)
	for name, picture := range map[string]string{"client": client.svg("client"), "editor": editor.svg("editor")} {
		require.Less(t, len(picture), 60_000)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "terminal-"+name+".svg"), []byte(picture), 0o644))
	}
}
