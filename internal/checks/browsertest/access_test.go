// What users of the keyboard and with low vision need.
package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
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
		eval[bool](p, `(el.openFind(), part('.find input').value = 'needle', part('.find input').dispatchEvent(new Event('input')))`)
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
