package view

// A terminal's retained output as a page of plain text, and as a file.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// textForm makes text of output without a PTY.
type textForm interface {
	of(c acpterm.Chunk) string
	// rest returns what of has held back, at the end or before a gap.
	rest() string
}

// asShown is the text that a terminal shows, for the user.
type asShown struct{ display.Renderer }

func (a *asShown) of(c acpterm.Chunk) string { return joinLines(a.Write(c.Raw)) }
func (a *asShown) rest() string              { return joinLines(a.Finish()) }

func joinLines(lines []display.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text)
		if l.Hidden > 0 {
			fmt.Fprintf(&b, "[%d bytes of escape sequences]\n", l.Hidden)
		}
	}
	return b.String()
}

// asValid is the output for the page, which has to show the same characters as from the stream. A browser would decode
// invalid bytes differently.
type asValid struct{}

func (asValid) of(c acpterm.Chunk) string { return c.Text }
func (asValid) rest() string              { return "" }

// serveText returns a handler that sends the output so far in a new form, and ends. For a terminal with a PTY, it sends
// the same text that an agent reads.
func (v *View) serveText(newForm func() textForm) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e, terminal := v.find(r)
		if e == nil || terminal == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Disposition", `inline; filename="output.txt"`)
		out := &deadlined{w, http.NewResponseController(w)}
		if terminal.HasPTY() {
			io.WriteString(out, terminal.Output().Output)
			return
		}
		ctx, cancel := v.streamContext(r)
		defer cancel()
		form := newForm()
		for chunk := range soFar(ctx, terminal, 0) {
			before := ""
			if chunk.Missed > 0 {
				before = form.rest() + fmt.Sprintf("[%d bytes before this are not kept]\n", chunk.Missed)
			}
			if _, err := io.WriteString(out, before+form.of(chunk)); err != nil {
				return
			}
		}
		io.WriteString(out, form.rest())
	}
}

// serveDownload sends the bytes of the output so far, as the command has written them, as a file.
func (v *View) serveDownload(w http.ResponseWriter, r *http.Request) {
	e, terminal := v.find(r)
	if e == nil || terminal == nil {
		http.NotFound(w, r)
		return
	}
	row, _, _, _ := v.table.rowOf(e)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+fileName(row)+`"`)
	out := &deadlined{w, http.NewResponseController(w)}
	ctx, cancel := v.streamContext(r)
	defer cancel()
	for chunk := range soFar(ctx, terminal, 0) {
		if _, err := io.WriteString(out, chunk.Raw); err != nil {
			return
		}
	}
}

// fileName returns the name of a file for a command's output: its words, and when it began.
func fileName(r row) string {
	words := strings.FieldsFunc(prefix(r.Command, maxFileName), func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._-", c)
	})
	name := strings.Trim(strings.Join(words, "-"), ".-")
	return cmp.Or(name, "output") + time.UnixMilli(r.Started).Format("-20060102-150405") + ".log"
}

// maxFileName limits the bytes of a command in the name of a file.
const maxFileName = 40

// soFar returns an iterator over the output after an offset that exists already. The last character may be unfinished;
// it is left out if the rest does not come soon.
func soFar(ctx context.Context, t output, from int64) iter.Seq[acpterm.Chunk] {
	return func(yield func(acpterm.Chunk) bool) {
		total, at := t.OutputTotal(), from
		next := func(ctx context.Context, least int64) bool {
			for chunk := range t.Follow(ctx, at) {
				at = chunk.End
				if !yield(chunk) {
					return false
				}
				if total-at < least {
					break
				}
			}
			return true
		}
		if total-at >= utf8.UTFMax && !next(ctx, utf8.UTFMax) || total <= at {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, firstWait)
		defer cancel()
		next(ctx, 1)
	}
}

// deadlined sets a new deadline for each write to a browser.
type deadlined struct {
	io.Writer
	control *http.ResponseController
}

func (d *deadlined) Write(p []byte) (int, error) {
	d.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	return d.Writer.Write(p)
}
