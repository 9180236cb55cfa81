package view

// A terminal's retained output as a page of plain text.

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
)

// asWritten and asValid are the texts of a chunk: for the user, and for the page, which has to show the same characters as
// from the stream. A browser would decode invalid bytes differently.
func asWritten(c acpterm.Chunk) string { return c.Raw }
func asValid(c acpterm.Chunk) string   { return c.Text }

// serveText returns a handler that sends the output so far, and ends. For a terminal with a PTY, it sends the same text
// that an agent reads. The charset tells a browser how to show the output; it shows U+FFFD for other bytes.
func (v *View) serveText(textOf func(acpterm.Chunk) string) http.HandlerFunc {
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
		for chunk := range soFar(ctx, terminal, 0) {
			if writeChunk(out, chunk.Missed, textOf(chunk)) != nil {
				return
			}
		}
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

func writeChunk(w io.Writer, missed int64, text string) error {
	if missed > 0 {
		if _, err := fmt.Fprintf(w, "[%d bytes before this are not kept]\n", missed); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, text)
	return err
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
