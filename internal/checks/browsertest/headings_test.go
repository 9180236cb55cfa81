// Headings of groups for the keyboard and for screen readers.
package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
)

// frames waits until the page is drawn.
const frames = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

// Arrow keys move the focus from one heading to the next, also to those out of view.
func testHeadingKeys(t *testing.T, b visitor) {
	var output strings.Builder
	for _, name := range []string{"One", "Two", "Three"} {
		fmt.Fprintf(&output, "::group::%s\n%s::endgroup::\n", name, strings.Repeat(strings.ToLower(name)+"\n", 100))
	}
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print(output.String()+"end\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	press := func(key string) { eval[bool](p, pressed(key)) }
	focused := func(name string) {
		p.until(fmt.Sprintf(`el.shadowRoot.activeElement?.ariaLabel?.startsWith(%q)`, name+","))
	}
	p.until(`el.row?.ended && el.text.endsWith('end\n')`)
	eval[bool](p, `(part('.xterm textarea').focus(), true)`)
	press("Home")
	onHeading(p, "One", `heading.focus()`)
	for _, step := range []string{"ArrowUp One", "ArrowDown Two", "ArrowDown Three", "ArrowDown Three", "ArrowUp Two", "ArrowUp One"} {
		key, name, _ := strings.Cut(step, " ")
		press(key)
		focused(name)
		p.until(fmt.Sprintf(`part('.xterm-rows').innerText.includes('▾ %s')`, name))
	}
	onHeading(p, "One", `heading.click()`)
	p.until(`el.text.startsWith('▸ One\n▾ Two\n')`)
	focused("One")
	press("ArrowDown") // to a heading in view
	focused("Two")

	// The output keeps the focus when the user gives it that, and scrolls.
	eval[bool](p, `(el.setAttribute('theme', 'dark'), `+frames+`)`) // draws all rows
	top := eval[string](p, `part('.xterm-rows').firstChild.textContent`)
	eval[bool](p, `(part('.xterm textarea').focus(), true)`)
	press("ArrowDown")
	p.until(fmt.Sprintf(`part('.xterm-rows').firstChild.textContent !== %q`, top))
	eval[bool](p, frames)
	require.Equal(t, "TEXTAREA", eval[string](p, `el.shadowRoot.activeElement?.tagName`))
	p.requireQuiet()
}

// Find begins at the first match in view, also if groups unfold for it, and if the part on the screen has none.
func testFindFromView(t *testing.T, b visitor) {
	var folded, long strings.Builder
	for i := range 50 {
		fmt.Fprintf(&folded, "section_start:1:s%d[collapsed=true]\rSection %[1]d\n%sneedle\nsection_end:2:s%[1]d\r\n", i, strings.Repeat("hay\n", 20))
	}
	for i := range 30_000 {
		long.WriteString(map[bool]string{true: "needle\n", false: "hay\n"}[i > 15_000 && i < 16_000])
	}
	v := serve(t, made(t, acptermtest.Commands{"folded": acptermtest.Print(folded.String(), 0), "long": acptermtest.Print(long.String(), 0)}), nil)
	find := func(p tab) {
		eval[bool](p, `(el.openFind(), part('.find input').value = 'needle', part('.find input').dispatchEvent(new Event('input')))`)
	}
	p := b.visit(t, v.only(v.create(t, "folded")))
	p.until(`el.row?.ended && el.text.endsWith('▸ Section 49\n')`)
	eval[bool](p, `part('.xterm textarea').dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true, cancelable: true })) || true`)
	p.until(headingOf("Section 0"))
	find(p)
	p.until(`part('.count').textContent === '1 of 50' && part('.xterm-rows').innerText.includes('Section 0\n')`)
	p.end()
	p = b.visit(t, v.only(v.createLong(t, "long"))+"#L100")
	p.until(marked + ` === 'hay' && el.row?.ended`)
	find(p)
	p.until(`part('.count').textContent === '1 of 999'`)
	p.requireQuiet()
}

// An error near the start of what the screen keeps has its colour, although that start is within a line.
func testErrorAfterCutLine(t *testing.T, b visitor) {
	texts := make(chan string, 2)
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	texts <- strings.Repeat("x", 40_000) + "\nerror: bad\n"
	p.until(fmt.Sprintf(`%s === 'rgb(193, 33, 43)'`, styleIfShown("error: bad")))
	texts <- strings.Repeat("ok\n", 10_000+eval[int](p, `part('.xterm-rows').children.length`)-20) + "end\n"
	p.until(`el.text.endsWith('end\n') && !el.text.includes('x'.repeat(9000))`)
	eval[bool](p, `part('.xterm textarea').dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true, cancelable: true })) || true`)
	p.until(fmt.Sprintf(`%s === 'rgb(193, 33, 43)'`, styleIfShown("error: bad")))
	close(texts)
	p.requireQuiet()
}

// The focus does not scroll the output out of a pane that has become smaller.
func testFocusInSmallPane(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print(strings.Repeat("line\n", 200)+"end\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.row?.ended && el.text.endsWith('end\n')`)
	p.resize(500, 300)
	p.until(`part('.xterm-rows').children.length < 20 && el.following`)
	eval[bool](p, `(part('.xterm textarea').focus(), true)`)
	require.Zero(t, eval[int](p, `part('.screen').scrollTop`))
	p.requireQuiet()
}

// A folded heading keeps the focus, also if the output after it takes several frames to write.
func testFoldedHeadingKeepsFocus(t *testing.T, b visitor) {
	var output strings.Builder
	for _, name := range []string{"One", "Two", "Three"} {
		fmt.Fprintf(&output, "::group::%s\n%s::endgroup::\n", name, strings.Repeat(strings.ToLower(name)+" "+strings.Repeat("0123456789", 20)+"\n", 1000))
	}
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print(output.String()+"end\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.row?.ended && el.text.endsWith('end\n')`)
	eval[bool](p, `(part('.xterm textarea').focus(), true)`)
	eval[bool](p, pressed("Home"))
	for _, folded := range []string{"▸", "▾", "▸"} {
		onHeading(p, "One", `heading.focus(), heading.click()`)
		p.until(fmt.Sprintf(`el.text.startsWith('%s One\n')`, folded))
		p.until(`el.shadowRoot.activeElement?.ariaLabel?.startsWith("One,")`)
	}
	p.requireQuiet()
}
