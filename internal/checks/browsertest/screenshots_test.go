package browsertest

// A screenshot for the documentation.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const (
	bold, dim, red, green, yellow, blue, cyan, plain = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[36m", "\x1b[0m"
)

// These are commands of an agent in an example project.
var goTest = "=== RUN   TestCheckout\n=== RUN   TestCheckout/empty_cart\n=== RUN   TestCheckout/with_voucher\n" +
	"    checkout_test.go:58: total = 41.70, want 39.70\n--- FAIL: TestCheckout (0.02s)\n    --- PASS: TestCheckout/empty_cart (0.00s)\n" +
	"    --- FAIL: TestCheckout/with_voucher (0.01s)\nFAIL\tshop.example/cart\t0.031s\nok  \tshop.example/catalog\t0.412s\n" +
	"ok  \tshop.example/mail\t0.087s\nFAIL\n"

func npmBuild(p *acptermtest.Process) int {
	fmt.Fprintf(p, "\n> shop@2.4.0 build\n> vite build && node scripts/precompress.mjs\n\n%svite v7.1.4 %s%sbuilding for production...%s\n", cyan, plain, green, plain)
	fmt.Fprintf(p, "transforming (1) src/main.ts\rtransforming (218) src/cart/Total.vue\r\x1b[2K%s✓%s 1284 modules transformed.\n", green, plain)
	fmt.Fprintf(p, "rendering chunks...\rcomputing gzip size...\r\x1b[2K")
	for _, f := range [][3]string{
		{"index.html", "0.71 kB", "0.39 kB"}, {"assets/index-C2v8xk1d.css", "48.12 kB",
			"8.94 kB"}, {"assets/checkout-Bq0Zl7aM.js", "61.37 kB", "21.05 kB"},
		{"assets/vendor-D4gT9w2e.js", "142.80 kB", "46.13 kB"}, {"assets/index-9sHn3RkQ.js", "538.24 kB", "171.66 kB"},
	} {
		colour := map[bool]string{true: yellow, false: cyan}[strings.HasPrefix(f[1], "538")]
		fmt.Fprintf(p, "%sdist/%s%s%-30s%s %s%10s%s %s│ gzip: %9s%s\n", dim, plain, colour, f[0], plain, bold, f[1], plain,
			dim, f[2], plain)
	}
	fmt.Fprintf(p, "\n%s(!) Some chunks are larger than 500 kB after minification.%s\n%s✓ built in 6.42s%s\n\n", yellow,
		plain, green, plain)
	fmt.Fprintf(p, "%sprecompress%s  brotli, 5 files\n", blue, plain)
	for i := 0; i <= 64; i++ {
		fmt.Fprintf(p, "\r  %s%s%s%s%s %3d%%  %d of 5", green, strings.Repeat("━", i*40/100), dim, strings.Repeat("━",
			40-i*40/100), plain, i, i*5/100)
	}
	return acptermtest.Block(p)
}

// after prints after a delay.
func after(d time.Duration, script acptermtest.Script) acptermtest.Script {
	return func(p *acptermtest.Process) int {
		p.Sleep(d)
		return script(p)
	}
}

func shop() acptermtest.Commands {
	return acptermtest.Commands{
		"git status --short": after(40*time.Millisecond,
			acptermtest.Print(" M cart/checkout.go\n M cart/checkout_test.go\n?? notes.txt\n", 0)),
		"go test -v ./...": after(1300*time.Millisecond, acptermtest.Print(goTest, 1)),
		"npm run build":    npmBuild,
		"npm run dev": func(p *acptermtest.Process) int {
			fmt.Fprintf(p, "\n  %sVITE v7.1.4%s  ready in %s312 ms%s\n\n  %s➜%s  Local:   %shttp://localhost:5173/%s\n",
				green+bold, plain, bold, plain, green, plain, cyan, plain)
			return acptermtest.Block(p)
		},
		"golangci-lint run": after(700*time.Millisecond, acptermtest.Print("0 issues.\n", 0)),
		"go vet ./... && go test ./catalog": after(900*time.Millisecond,
			acptermtest.Print("ok  \tshop.example/catalog\t0.398s\n", 0)),
		"./slow-report": acptermtest.Block,
		"rm":            acptermtest.Block,
	}
}

// runShop runs the commands, and returns the terminal to show.
func runShop(t *testing.T, v *viewer) *acpterm.Terminal {
	create := func(session acpterm.SessionID, program string, args ...string) *acpterm.Terminal {
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: session, Command: program,
			Args: args, Cwd: "/home/me/shop"}, nil)
		require.NoError(t, err)
		return terminal
	}
	create("weekly-report", "git", "status", "--short").Wait(t.Context())
	create("weekly-report", "./slow-report").Wait(t.Context())
	failed := create("checkout-fix", "go", "test", "-v", "./...")
	dev := create("checkout-fix", "npm", "run", "dev")
	failed.Wait(t.Context())
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "checkout-fix", Command: "rm",
		Args: []string{"-rf", "../backup"}, Cwd: "/home/me/shop"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	create("checkout-fix", "golangci-lint", "run").Wait(t.Context())
	require.NoError(t, dev.Kill(t.Context()))
	create("checkout-fix", "go vet ./... && go test ./catalog").Wait(t.Context())
	return create("checkout-fix", "npm", "run", "build")
}

func denyRemovals(_ context.Context, p acpterm.Proposal) acpterm.Decision {
	if p.Command.Args[0] == "rm" {
		return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: "no-removals", Reason: "Files are removed by people only."}
	}
	return acpterm.Decision{Verdict: acpterm.VerdictAllow}
}

type policyFunc func(context.Context, acpterm.Proposal) acpterm.Decision

func (f policyFunc) Decide(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
	return f(ctx, p)
}

func TestScreenshotOfThePage(t *testing.T) {
	dir := os.Getenv("VIEW_SCREENSHOTS")
	if dir == "" {
		t.Skip("VIEW_SCREENSHOTS names no directory to write them to")
	}
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: shop(), Policy: policyFunc(denyRemovals),
		Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM}}},
		CommandsFor: func(_ acpterm.SessionID, c acpterm.Command) *acpterm.CommandOptions {
			if c.Args[0] == "./slow-report" {
				return &acpterm.CommandOptions{Timeout: 800 * time.Millisecond}
			}
			return nil
		}})
	v := serve(t, m, &view.Options{AllowStop: true})
	p := startBrowser(t).open(t, v.url+"#"+v.key(runShop(t, v)), look("light", 1280, 760, 1))
	p.until(`el.text.includes('64%')`)
	shoot(p, filepath.Join(dir, "view-desktop-light.png"))
	p.requireQuiet()
}

// shoot writes a screenshot after the page has been drawn.
func shoot(p *page, file string) {
	eval[bool](p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(file, png, 0o644))
}

// look sets a page's colour scheme and size. A narrow page is a phone's.
func look(scheme string, width, height int64, scale float64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: scale, Mobile: width < 500,
		})
		return err
	})
}

// unlook undoes look.
var unlook = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	if err == nil {
		_, err = cdp.Call(ctx, target, emulation.ClearDeviceMetricsOverride, cdp.Empty{})
	}
	return err
})

// forcedColors has the user's colours instead of the page's.
var forcedColors = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}},
	})
	return err
})
