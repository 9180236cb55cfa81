package browsertest

// Accessibility, checked by axe-core, which also looks into shadow roots.

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/view"
)

// axe returns the source of axe-core, installed by npm ci. Without it the test is skipped, or fails if the environment
// requires it.
func axe(t *testing.T) string {
	source, err := os.ReadFile("testdata/axe/node_modules/axe-core/axe.min.js")
	if err != nil && os.Getenv("ACPTERM_REQUIRE_AXE") == "" {
		t.Skip("axe-core is not there: npm ci --prefix internal/checks/browsertest/testdata/axe")
	}
	require.NoError(t, err)
	return string(source)
}

// The page has no serious finding, in light and dark, on a desktop, on a phone and in a zoomed window, with a running,
// an ended, a failed and a denied command.
func testAxe(t *testing.T, b *browser) {
	source := axe(t)
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{
			"serve": func(p *acptermtest.Process) int {
				fmt.Fprint(p, "\x1b[31mred\x1b[0m \x1b[90mgrey\x1b[0m \x1b[7minverse\x1b[0m plain \x1b[2mdim\x1b[0m \x1b[2;33mdim\x1b[0m\n"+
					"::group::group\none\n::endgroup::\nerror: bad\nwarning: odd\n::error file=a.go::wrong\n")
				return acptermtest.Block(p)
			},
			"good": acptermtest.Print("done\n", 0), "bad": acptermtest.Print("", 1), "rm": acptermtest.Block,
		},
		Policy: denyRemovals,
	})
	v := serve(t, m, &view.Options{AllowStop: true})
	for _, command := range []string{"good", "bad", "serve"} {
		terminal := v.create(t, command)
		if command != "serve" {
			<-terminal.Done()
		}
	}
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "other", Command: "rm"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	for i, scheme := range []string{"light", "dark"} {
		for j, size := range [][2]int64{{1280, 760}, {390, 844}, {320, 256}} {
			if (i+j)%2 == 1 && !longtest.Is() {
				continue // each scheme and each size at least once
			}
			p := b.open(t, v.url, look(scheme, size[0], size[1], 1))
			p.until(`document.querySelectorAll('nav li').length === 4`)
			ctx, cancel := context.WithTimeout(p.ctx, timeout)
			_, err := chromedp.Run(ctx, chromedp.Evaluate[any](source+"; null"))
			cancel()
			require.NoError(t, err)
			look := func(what string) {
				require.Empty(t, eval[[]string](p, `axe.run(document, { resultTypes: ['violations'] }).then(found =>
					found.violations.filter(each => ['serious', 'critical'].includes(each.impact)).map(
						each => each.id + ': ' + each.nodes.map(node => node.html.slice(0, 200) + node.failureSummary).join('; ')))`),
					"%s, %s, %v", what, scheme, size)
			}
			look("the list")
			eval[bool](p, `(document.getElementById('filter-text').value = 'none', document.getElementById('filter-text').dispatchEvent(new Event('input')), true)`)
			p.until(`visible(document.getElementById('none'))`)
			look("the empty list")
			eval[bool](p, `(document.getElementById('show-all').click(), true)`)
			for _, command := range []string{"serve", "good", "bad", "rm"} {
				eval[bool](p, fmt.Sprintf(`([...document.querySelectorAll('nav a')].find(
					a => a.querySelector('.command').textContent === %q).click(), true)`, command))
				p.until(fmt.Sprintf(`visible(el) && part('.command').textContent === %q && part('.state').textContent`, command))
				if command == "serve" {
					eval[bool](p, `(part('.copy').click(), part('.show-times').click(), true)`) // for the other commands, too
					p.until(`part('.times time')`)
					p.until(`el.text.includes('wrong') && part('.label')`)
				}
				look(command)
				if command == "serve" {
					eval[bool](p, `(part('.reader').click(), true)`)
					p.until(transcript + `.endsWith('a.go: wrong')`)
					look(command + " for screen readers")
					eval[bool](p, `(part('.transcript button').focus(), true)`)
					look(command + " with the focus on a heading for screen readers")
					eval[bool](p, `(part('.reader').click(), true)`)
				}
				eval[bool](p, `(el.openFind(), part('.copy').click(), true)`)
				look(command + " with its menu and find")
				eval[bool](p, `(part('.copy').click(), part('[aria-label=Close]').click(), true)`)
				eval[bool](p, `(location.hash = '', true)`)
			}
			p.close()
		}
	}
}
