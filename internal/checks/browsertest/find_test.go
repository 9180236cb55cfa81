package browsertest

// Find: its choices, its count, and the mark of the active match.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
)

// Case, whole words and regular expressions change what is found, as in VS Code.
func testFindChoices(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(
		"Error error errors\n日本 error 日本\nerror_code terror --error\tend\n"+strings.Repeat("x", 300)+"error\naaaa\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`part('.state').textContent === 'done' && el.text.endsWith('aaaa\n')`)
	eval[bool](p, `(el.openFind(), true)`)
	find := func(text string) {
		eval[bool](p, fmt.Sprintf(`(part('.find input').value = %q, part('.find input').dispatchEvent(new Event('input')))`, text))
	}
	choose := func(name string) {
		eval[bool](p, fmt.Sprintf(`(part('[aria-label=%q]').click(), true)`, name))
	}
	count := func(want string) {
		t.Helper()
		p.until(fmt.Sprintf(`part('.count').textContent === %q`, want))
	}
	find("error")
	count("1 of 8")
	choose("Match case")
	count("1 of 7")
	choose("Whole word")
	count("1 of 3")
	choose("Match case")
	count("2 of 4") // the active match stays
	find("--error")
	count("1 of 1")
	choose("Whole word")
	find("aa")
	count("1 of 2")
	find("e.r(or)+s?")
	count("No results")
	choose("Regular expression")
	count("1 of 8")
	find("^error")
	count("1 of 2")
	find("error(")
	count("Not valid")
	require.Equal(t, "true", eval[string](p, `part('.find input').getAttribute('aria-invalid')`))
	find(`\-\-error\tend`)
	count("1 of 1")
	eval[bool](p, `part('.find input').dispatchEvent(new KeyboardEvent('keydown', { code: 'KeyR', key: 'r', altKey: true, bubbles: true, cancelable: true })) || true`)
	p.until(`part('[aria-label="Regular expression"]').getAttribute('aria-pressed') === 'false'`)
	count("No results")
	find("日本")
	count("1 of 2")
	p.requireQuiet()
}

// The places of all matches are beside the scrollbar.
func testRuler(t *testing.T, b visitor) {
	output := strings.Repeat("hay\n", 100) + "needle\n" + strings.Repeat("hay\n", 200) + "needle\n" + strings.Repeat("hay\n", 98)
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(output, 0), "one": acptermtest.Print("needle\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`part('.state').textContent === 'done' && el.text.endsWith('hay\n')`)
	const places = `[...new Set(part('.ruler').style.background.match(/[\d.]+px/g))].map(at => parseFloat(at) / part('.xterm').clientHeight)`
	eval[bool](p, `(el.openFind(), part('.find input').value = 'needle', el.find('needle'))`)
	p.until(`part('.count').textContent === '1 of 2'`)
	marks := eval[[]float64](p, places) // the edges of each
	require.Len(t, marks, 4)
	require.InDelta(t, 0.25, marks[0], 0.03)
	require.InDelta(t, 0.75, marks[2], 0.03)
	require.True(t, eval[bool](p, `part('.ruler').getBoundingClientRect().right <= part('.screen').getBoundingClientRect().right`))
	eval[bool](p, `(part('.find input').value = 'none', part('.find input').dispatchEvent(new Event('input')))`)
	p.until(`part('.count').textContent === 'No results' && part('.ruler').style.background === ''`)
	eval[string](p, fmt.Sprintf(`(el.setAttribute('src', %q), '')`, v.view.TerminalPath("session-1", v.create(t, "one").ID())))
	p.until(`el.text === 'needle\n'`)
	require.True(t, eval[bool](p, `el.find('needle')`))
	require.Equal(t, "", eval[string](p, `part('.ruler').style.background`), "all is in view")
	p.requireQuiet()
}

// brightness is how much a colour differs from the background of the screen.
const brightness = `(selector => {
	const rgb = color => color.match(/[\d.]+/g).slice(0, 3).map(Number)
	const cells = [...el.shadowRoot.querySelectorAll('.xterm-rows span')].filter(span => span.style.backgroundColor)
	const top = part(selector).getBoundingClientRect().top
	const cell = cells.find(span => Math.abs(span.getBoundingClientRect().top - top) < 3)
	const back = rgb(getComputedStyle(part('.box')).backgroundColor)
	return cell ? rgb(getComputedStyle(cell).backgroundColor).reduce((sum, c, i) => sum + Math.abs(c - back[i]), 0) : 0
})`

// The active match stands out from the others, in both themes, and it follows the user.
func testActiveMatch(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("a needle\nhay\na needle\nhay\na needle\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`part('.state').textContent === 'done' && el.text.endsWith('needle\n')`)
	eval[bool](p, `(el.openFind(), part('.find input').value = 'needle', el.find('needle'))`)
	for _, theme := range []string{"light", "dark"} {
		eval[bool](p, fmt.Sprintf(`(el.setAttribute('theme', %q), true)`, theme))
		p.until(brightness + `('.match.active') > 0 && ` + brightness + `('.match:not(.active)') > 0`)
		p.until(brightness + `('.match.active') > 1.3 * ` + brightness + `('.match:not(.active)')`)
	}
	const row = `Math.round((part('.match.active').getBoundingClientRect().top - part('.xterm-screen').getBoundingClientRect().top) /
		part('.match.active').getBoundingClientRect().height)`
	for _, want := range []int{2, 4, 0} {
		eval[bool](p, `el.find('needle')`)
		p.until(fmt.Sprintf(`%s === %d && part('.count').textContent === '%d of 3'`, row, want, want/2+1))
	}
	p.requireQuiet()
}

// The count goes on when the screen has no more room for all matches.
func testFindCount(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	p := b.visit(t, v.only(v.createLong(t, "make")))
	line := "a needle " + strings.Repeat("x", 150) + "\n"
	texts <- strings.Repeat(line, 4000) + "end\n"
	p.until(`el.text.endsWith('end\n')`)
	eval[bool](p, `(el.openFind(), part('.find input').value = 'needle', el.find('needle', true))`)
	for _, width := range []int64{600, 480, 1000} { // narrow lines need more rows than the screen keeps
		before := eval[int](p, `innerWidth`)
		p.resize(width, 700)
		p.until(fmt.Sprintf(`innerWidth !== %d`, before))
		if width < 600 {
			p.until(`el.text.split('\n').length < 4000`)
		}
		p.until(`part('.count').textContent === '4,000 of 4,000'`)
	}
	texts <- strings.Repeat(line, 2000)
	p.until(`part('.count').textContent === '4,000 of 6,000'`)
	close(texts)
	p.until(`el.row?.ended`)
	eval[bool](p, `el.find('needle')`)
	p.until(`part('.count').textContent === '4,001 of 6,000'`)
	p.requireQuiet()
}
