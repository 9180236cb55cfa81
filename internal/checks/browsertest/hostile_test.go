package browsertest

// Output that is made to keep the page busy.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
)

// No output makes the page slow. Time that grows with the square of the output would exceed the timeout.
func testHostileOutput(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{
		"stars": acptermtest.Print(strings.Repeat("*** ", 200_000)+"\nmain.c:1: error: found\n", 1),
		"long":  acptermtest.Print("needle"+strings.Repeat("a", 400_000)+"needle\n"+strings.Repeat("more\n", 100), 0),
	}), nil)
	p := b.visit(t, v.only(v.createLong(t, "stars")))
	p.until(`part('.state').textContent === 'exit code 1' && el.text.endsWith('found\n')`)
	eval[bool](p, `(part('.first-error').click(), true)`)
	p.until(marked + ` === 'main.c:1: error: found'`)

	require.True(t, eval[bool](p, `import(new URL('../assets/groups.js', location).href).then(({ Groups }) => {
		const shown = texts => {
			const groups = new Groups(new Set(), new Set())
			let last = ''
			for (const text of texts) for (const piece of groups.pieces(text)) last = piece.text
			return last
		}
		const begin = 'section_start:1:a\r\n', end = 'section_end:1:b\r\nend\n'
		const folded = 'section_start:1:b[collapsed=true]\r\n'
		const nested = shown([begin.repeat(400_000), 'section_end:1:c\r\n'.repeat(400_000), end])
		const unfinished = shown([folded, ...Array(4000).fill('x'.repeat(64 << 10)), '\n' + end])
		return nested.endsWith('end\n') && unfinished === 'end\n'
	})`))
	p.requireQuiet()
	p.end()

	p = b.visit(t, v.only(v.createLong(t, "long")))
	p.until(`part('.state').textContent === 'done' && el.text.endsWith('more\n')`)
	const inView = `(() => {
		const box = part('.match.active')?.getBoundingClientRect(), screen = part('.xterm-screen').getBoundingClientRect()
		return !!box && box.top >= screen.top && box.bottom <= screen.bottom + 1
	})()`
	find := func(text string) {
		eval[bool](p, `(el.openFind(), part('.find input').value = '`+text+`', el.find('`+text+`'))`)
	}
	find("a")
	p.until(`part('.count').textContent === '1 of 400,000' && ` + inView)
	find("needle")
	find("needle")
	p.until(`part('.count').textContent === '2 of 2' && ` + inView)
	p.requireQuiet()
	p.end()
}
