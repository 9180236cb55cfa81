package browsertest

// The longest time between two frames of a page with long output.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// watchFrames keeps window.longest at the longest time between two frames, in milliseconds, since it was last set.
const watchFrames = `(() => {
	let before = performance.now()
	window.longest = 0
	const next = now => { longest = Math.max(longest, now - before); before = now; requestAnimationFrame(next) }
	requestAnimationFrame(next)
	return true
})()`

// BenchmarkFrames reports the longest frame while 50 MB arrive, and while a user reads, searches and copies 100,000
// lines, in milliseconds. It also reports the memory of the page's scripts at the end, in megabytes.
func BenchmarkFrames(b *testing.B) {
	browser := startBrowser(b)
	start := make(chan struct{})
	lines := strings.Builder{}
	for i := range 100_000 {
		fmt.Fprintf(&lines, "line %d of a build that says what it does\n", i)
	}
	v := serve(b, made(b, acptermtest.Commands{
		"flood": flood(start, 50e6), "count": acptermtest.Print(lines.String(), 0),
	}), nil)
	limit := uint64(16 << 20)
	create := func(command string) *acpterm.Terminal {
		terminal, err := v.Create(b.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: command,
			OutputByteLimit: &limit}, nil)
		require.NoError(b, err)
		return terminal
	}
	terminal, count := create("flood"), create("count")
	<-count.Done()
	p := browser.visit(b, v.only(terminal))
	p.until(`el.text === 'begin\n'`)
	eval[bool](p, watchFrames)
	eval[bool](p, catchCopies)
	longest := func(name string, do func()) {
		eval[bool](p, `(longest = 0, true)`)
		do()
		b.ReportMetric(eval[float64](p, `longest`), name+"-ms")
	}
	longest("flood", func() {
		close(start)
		<-terminal.Done()
		p.until(`part('.state').textContent === 'done'`)
	})
	longest("open", func() {
		eval[bool](p, fmt.Sprintf(`(el.setAttribute('src', %q), true)`, v.view.TerminalPath("s", count.ID())))
		p.until(`part('.state').textContent === 'done' && visible(part('.earlier'))`)
	})
	longest("read", func() {
		for range 5 {
			eval[bool](p, `el.earlier().then(() => true)`)
		}
	})
	longest("find", func() {
		for range 5 {
			require.True(b, eval[bool](p, `el.find('777 ', true)`))
		}
	})
	eval[bool](p, `(part('.to-end').click(), true)`) // which clears the selection
	p.until(`el.following && visible(part('.earlier'))`)
	longest("copy", func() {
		eval[bool](p, `el.copy().then(() => true)`)
		require.Equal(b, lines.Len(), eval[int](p, `copied.length`))
	})
	b.ReportMetric(eval[float64](p, `performance.memory.usedJSHeapSize / 1e6`), "heap-MB")
	b.ReportMetric(0, "ns/op")
}
