package browsertest

// What users of the keyboard and with low vision need. axe-core checks accessibility, also in shadow roots.

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

// pressed is the expression that presses a key where the focus is.
func pressed(key string) string {
	return fmt.Sprintf(`el.shadowRoot.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true, cancelable: true })) || true`, key)
}

// Escape in Find gives the focus back, for screen readers to the match. F3 goes on to the next one.
func testFindByKeyboard(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print("needle 1\n"+strings.Repeat("hay\n", 99)+"needle 2\nerror: bad\n", 1)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.row?.ended && el.text.endsWith('bad\n')`)
	find := func() {
		eval[bool](p, `(part('.count').textContent = '', el.openFind(), part('.find input').value = 'needle', part('.find input').dispatchEvent(new Event('input')))`)
		p.until(`part('.count').textContent === '2 of 2'`)
		eval[bool](p, pressed("F3"))
		p.until(`part('.count').textContent === '1 of 2'`)
		eval[bool](p, strings.Replace(pressed("F3"), "key:", "shiftKey: true, key:", 1))
		p.until(`part('.count').textContent === '2 of 2'`)
		eval[bool](p, pressed("Escape"))
		require.False(t, eval[bool](p, `visible(part('.find'))`))
	}
	for _, from := range []string{".xterm textarea", ".gutter", ".copy"} {
		eval[bool](p, fmt.Sprintf(`(part(%q).focus(), true)`, from))
		find()
		require.True(t, eval[bool](p, fmt.Sprintf(`el.shadowRoot.activeElement === part(%q)`, from)), from)
	}
	eval[bool](p, `(document.activeElement.blur(), el.shadowRoot.activeElement?.blur(), true)`)
	find()
	require.Equal(t, "Find", eval[string](p, `el.shadowRoot.activeElement.textContent`))
	eval[bool](p, `(part('.reader').click(), true)`)
	p.until(transcript + `.endsWith('error: bad')`)
	find()
	p.until(news + `.endsWith('needle 1\nneedle 2')`)
	require.Equal(t, "needle 2", eval[string](p, `el.shadowRoot.activeElement.textContent`))
	eval[bool](p, `(part('.first-error').click(), true)`)
	p.until(`el.shadowRoot.activeElement.textContent === 'error: bad'`)
	p.requireQuiet()
}

// A low window, also one that is zoomed, has all that is known of a command, a click away.
func testLowWindow(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print("made\n", 0)}), &view.Options{AllowStop: true})
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.row?.ended && el.text === 'made\n'`)
	for _, size := range [][2]int64{{320, 256}, {1000, 400}} {
		p.resize(size[0], size[1])
		p.until(`!part('.numbers').checkVisibility() && visible(part('.more'))`)
		eval[bool](p, `(part('.more').click(), true)`)
		require.Contains(t, eval[string](p, `part('.numbers').innerText`), "/home/me/shop")
		require.True(t, eval[bool](p, `[...part('.numbers').children].every(item => {
			const { left, right, top, bottom, width } = item.getBoundingClientRect()
			return width && left >= -18 && right <= innerWidth && top >= 0 && bottom <= innerHeight
		})`), size)
		eval[bool](p, `(part('.more').click(), true)`)
		p.until(`!part('.numbers').checkVisibility()`)
	}
	p.requireQuiet()
}

// The outlines of matches and of a linked line are seen in both themes.
func testOutlines(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print("needle needle\nhay\n\x1b[7mNEEDLE\x1b[0m\n", 0)}), nil)
	terminal := v.create(t, "ci")
	<-terminal.Done()
	p := b.visit(t, v.only(terminal)+"#L2")
	p.until(marked + ` === 'hay' && el.row?.ended`)
	eval[bool](p, `(el.openFind(), part('.find input').value = 'needle', part('.find input').dispatchEvent(new Event('input')))`)
	for _, theme := range []string{"light", "dark"} {
		eval[bool](p, fmt.Sprintf(`(el.setAttribute('theme', %q), true)`, theme))
		for _, mark := range []string{".marked", ".found.active", ".found:not(.active)"} {
			p.until(fmt.Sprintf(`getComputedStyle(part(%q)).outlineStyle === 'solid' && (() => {`+ratio+`
				return contrastOf(getComputedStyle(part(%[1]q)).outlineColor, getComputedStyle(part('.box')).backgroundColor)
			})() >= 3`, mark))
		}
		p.until(contrast("NEEDLE") + ` >= 4.5`) // inverse
	}
	p.requireQuiet()
}

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

// requireAccessible fails if axe has a serious finding. A visible name must be part of the accessible one, for speech.
func requireAccessible(p *page, source, what string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, callTimeout)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[any]("window.axe || ("+"(() => {"+source+"})()); null"))
	require.NoError(p.t, err)
	require.Empty(p.t, eval[[]string](p, `axe.run(document, {
		resultTypes: ['violations'], rules: { 'label-content-name-mismatch': { enabled: true } },
	}).then(found => found.violations.filter(each => ['serious', 'critical'].includes(each.impact)).map(
		each => each.id + ': ' + each.nodes.map(node => node.html.slice(0, 200) + node.failureSummary).join('; ')))`), what)
}

// The keys of a phone have no serious finding either.
func testAxeOfKeys(t *testing.T, b *browser) {
	source := axe(t)
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `echo ready; printf '\33]133;A\a$ \33]133;B\afalse\n\33]133;C\ano\n\33]133;D;1\a'; exec sleep 600`)
	for scheme, width := range map[string]int64{"light": 390, "dark": 320} {
		p := b.open(t, y.only(terminal), look(scheme, width, 844, 1))
		p.until(`visible(part('.keys')) && el.text.startsWith('ready') && part('.label.bad')`)
		requireAccessible(p, source, "keys, "+scheme)
		p.close()
	}
}

// The page has no serious finding, in light and dark, on a desktop, on a phone and in a zoomed window, with a running,
// an ended, a failed and a denied command.
func testAxe(t *testing.T, b *browser) {
	source := axe(t)
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{
			"serve": func(p *acptermtest.Process) int {
				fmt.Fprint(p, "\x1b[31mred\x1b[0m \x1b[90mgrey\x1b[0m \x1b[7minverse\x1b[0m plain \x1b[2mdim\x1b[0m \x1b[2;33mdim\x1b[0m\n"+
					"::group::group\none\n::endgroup::\n"+
					"\x1b]133;A\x07$ \x1b]133;B\x07false\n\x1b]133;C\x07no\n\x1b]133;D;1\x07error: bad\nwarning: odd\n::error file=a.go::wrong\n")
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
	viewtest.NewAgent(t, v.Manager, agentterm.Options{}).Update("other", "call_1", members{"command": "own"})
	for i, scheme := range []string{"light", "dark"} {
		for j, size := range [][2]int64{{1280, 760}, {390, 844}, {320, 256}, {640, 380}, {320, 568}} { // zoomed: 400 %, 200 %
			if (i+j)%2 == 1 && !longtest.Is() {
				continue // each scheme and each size at least once
			}
			p := b.open(t, v.url, look(scheme, size[0], size[1], 1))
			p.until(`document.querySelectorAll('nav li').length === 5`)
			look := func(what string) { requireAccessible(p, source, fmt.Sprintf("%s, %s, %v", what, scheme, size)) }
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
					p.until(`el.text.includes('wrong') && part('.label') && part('.label.bad')`)
				}
				look(command)
				if command == "serve" {
					eval[bool](p, `(part('.first-error').click(), true)`)
					p.until(`visible(part('.errors li')) && part('.marked')`)
					look(command + " with its errors")
					eval[bool](p, `(part('.first-error').click(), true)`)
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
			eval[bool](p, `(localStorage.clear(), true)`) // the times are kept
			p.close()
		}
	}
}
