package browsertest

// What a page of the host can ask the element, and learn from its events.

import (
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
)

// The package comment of view describes these properties, methods and events.
func testElement(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	texts <- "one\ntwo\n"
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.text === 'one\ntwo\n' && el.following && el.missed === 0`)
	require.Equal(t, "ci running", eval[string](p, `[el.row.command, el.row.state].join(' ')`))
	require.True(t, eval[bool](p, `el.find('two')`))
	require.False(t, eval[bool](p, `el.find('three')`))
	eval[bool](p, `(window.seen = [], ['status', 'line', 'connection'].forEach(type => el.addEventListener(type, e => {
		seen.push(type + ' ' + (type === 'status' ? e.detail.state : e.detail))
		if (e.detail === 'lost') e.preventDefault()
	})), true)`)
	eval[bool](p, `(part('.gutter').focus(), true)`)
	eval[bool](p, pressed("End"))
	p.until(`seen.includes('line 2') && el.getAttribute('line') === '2'`)
	eval[bool](p, pressed("Escape"))
	p.until(`seen.includes('line 0') && !el.hasAttribute('line')`)
	v.open.refuse(true)
	v.open.drop()
	p.until(`seen.includes('connection lost')`)
	require.Empty(t, eval[string](p, `part('.note').textContent`), "the page has cancelled the event")
	v.open.refuse(false)
	p.until(`seen.includes('connection open')`)
	close(texts)
	p.until(`seen.includes('status finished') && el.row.state === 'finished'`)
	p.end()
}
