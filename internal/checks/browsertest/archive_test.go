package browsertest

// The commands of earlier runs in the list, and the search in the output of all.

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/archive"
	"github.com/acpterm/acpterm/view"
)

// The page lists commands of an earlier run and marks them. The filter also finds text in all output, shows the line,
// and leads to it.
func testEarlierRuns(t *testing.T, b visitor) {
	dir := filepath.Join(t.TempDir(), "archive")
	commands := acptermtest.Commands{
		"build": acptermtest.Print(strings.Repeat("compiling\n", 3000)+"main.go:7: undefined: total\n", 1),
		"test":  acptermtest.Print("ok\n", 0),
	}
	a, err := archive.Open(dir, nil)
	require.NoError(t, err)
	m, err := acpterm.NewManager(&acpterm.Options{Runner: commands})
	require.NoError(t, err)
	a.Keep(m, "")
	build, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "yesterday", Command: "build"}, nil)
	require.NoError(t, err)
	<-build.Done()
	require.NoError(t, m.Close())
	require.NoError(t, a.Close())

	a, err = archive.Open(dir, nil)
	require.NoError(t, err)
	v := serve(t, made(t, commands), &view.Options{Archive: a})
	<-v.create(t, "test").Done()
	p := b.visit(t, v.url)
	p.until(`document.querySelectorAll('nav li').length === 2`)
	require.Equal(t, "session-1, Earlier run · yesterday", eval[string](p,
		`[...document.querySelectorAll('nav h2')].map(node => node.textContent).join(', ')`))
	filter := func(text string) {
		eval[bool](p, fmt.Sprintf(`(() => {
			const filter = document.getElementById('filter-text')
			filter.value = %q
			return filter.dispatchEvent(new Event('input'))
		})()`, text))
	}
	const shown = `[...document.querySelectorAll('nav .command, nav .match')].filter(visible).map(node => node.textContent).join(', ')`
	filter("UNDEFINED: t")
	p.until(shown + ` === 'build, main.go:7: undefined: total'`)
	eval[bool](p, `([...document.querySelectorAll('nav a')].find(visible).click(), true)`)
	p.until(`location.hash.endsWith(':L3001') && el.text.includes('undefined: total') && el.row.earlier`)
	p.until(`part('.numbers').textContent.includes('Earlier run') && !visible(part('.stop'))`)
	filter("nowhere at all")
	p.until(`visible(document.getElementById('none'))`)
	filter("")
	p.until(shown + ` === 'test, build'`)
	require.NotContains(t, eval[string](p, `[...document.querySelectorAll('nav a')].map(a => a.hash).join()`), ":L")
	p.requireQuiet()
	require.NoError(t, a.Close())
}
