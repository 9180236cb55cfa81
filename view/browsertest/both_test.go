package browsertest

// Tests that run in both Chromium and Firefox.

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// tab is a page in a browser.
type tab interface {
	until(expression string)       // waits for it to be true
	json(expression string) string // its value
	end()
}

var inBoth = []struct {
	name string
	run  func(t *testing.T, open func(t *testing.T, url string) tab)
}{
	{"all that is kept can be read, found and copied", testWhole},
	{"a copy has the tabs and the lines that the command wrote", testCopies},
	{"a title and a notification tell of an end", testNotify},
	{"a long command is cut, and is a click away", testLongCommand},
	{"several managers and names of sessions", testSources},
}

// value returns the value of an expression.
func value[T any](t *testing.T, p tab, expression string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(p.json(expression)), &v), expression)
	return v
}

func (p *page) json(expression string) string {
	p.t.Helper()
	return eval[string](p, `(async () => JSON.stringify(await (`+expression+`)) ?? 'null')()`)
}

func (p *page) end() { p.close() }
