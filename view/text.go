package view

// A terminal's retained output as a page of plain text.

import (
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// serveText sends the output so far, and ends. For a terminal with a PTY, it sends the same text that an agent reads.
func (v *View) serveText(w http.ResponseWriter, r *http.Request) {
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
	total := terminal.OutputTotal()
	if total == 0 {
		return
	}
	for chunk := range terminal.Follow(ctx, 0) {
		if err := writeChunk(out, chunk); err != nil || total-chunk.End < utf8.UTFMax { // a character may be unfinished
			return
		}
	}
}

func writeChunk(w io.Writer, c acpterm.Chunk) error {
	if c.Missed > 0 {
		if _, err := fmt.Fprintf(w, "[%d bytes before this are not kept]\n", c.Missed); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, c.Text)
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
