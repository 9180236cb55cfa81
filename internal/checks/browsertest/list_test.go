package browsertest

// The list of commands: its filter, and what it looks like when it is empty.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// The text of the filter selects commands by their words, their session and their directory. Sessions without a match
// disappear, and an empty result says so. Arrow keys go from command to command.
func testFilter(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"go": acptermtest.Print("", 0), "npm": acptermtest.Print("", 1)}), nil)
	run := func(session acpterm.SessionID, command string, args ...string) {
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: session, Command: command, Args: args}, nil)
		require.NoError(t, err)
		<-terminal.Done()
	}
	run("first", "go", "test", "./cart")
	run("first", "npm", "run", "build")
	run("second", "go", "vet", "./cart")
	p := b.visit(t, v.url)
	p.until(`document.querySelectorAll('nav li').length === 3`)
	const shown = `[...document.querySelectorAll('nav h2, nav .command')].filter(visible).map(node => node.textContent).join(', ')`
	filter := func(text string) {
		eval[bool](p, fmt.Sprintf(`(() => {
			const filter = document.getElementById('filter-text')
			filter.value = %q
			return filter.dispatchEvent(new Event('input'))
		})()`, text))
	}
	for _, step := range []struct{ text, want string }{
		{"CART test", "first, go test ./cart"}, {"second", "second, go vet ./cart"}, {"vet first", ""},
		{"", "second, go vet ./cart, first, npm run build, go test ./cart"},
	} {
		filter(step.text)
		p.until(fmt.Sprintf(`%s === %q`, shown, step.want))
		require.Equal(t, step.want == "", eval[bool](p, `visible(document.getElementById('none'))`))
	}
	eval[bool](p, `(document.querySelector('nav a').focus(), true)`)
	for _, step := range []struct {
		key string
		to  int
	}{{"ArrowDown", 1}, {"ArrowUp", 0}} {
		pressOn(p, step.key)
		require.True(t, eval[bool](p, fmt.Sprintf(`document.activeElement === document.querySelectorAll('nav a')[%d]`, step.to)))
	}
	eval[bool](p, `(document.querySelector('[data-kind=failed]').click(), true)`)
	p.until(shown + ` === 'first, npm run build'`)
	filter("vet")
	p.until(shown + ` === ''`)
	run("third", "npm", "vet")
	p.until(shown + ` === 'third, npm vet'`)
	filter("nothing has this")
	p.until(`visible(document.getElementById('none'))`)
	eval[bool](p, `(document.getElementById('show-all').click(), true)`)
	p.until(`[...document.querySelectorAll('nav li')].filter(visible).length === 4 && document.getElementById('filter-text').value === ''`)
	p.requireQuiet()
}
