package view

// The request for the times of a command's lines. The page makes it only while it shows them.

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// timesMessage is the response. It counts the lines of the output between two offsets.
type timesMessage struct {
	// Started and Ended are in milliseconds since 1970, like those of a row.
	Started int64 `json:"started"`
	Ended   int64 `json:"ended"`
	// From is the requested offset, or the later beginning of the retained output. End is the offset of the end. Lines is
	// the number of line ends between them.
	From  int64 `json:"from"`
	End   int64 `json:"end"`
	Lines int64 `json:"lines"`
	// Mark is the number of line ends between From and the requested mark, or -1 if the mark is not between From and
	// End.
	Mark int64 `json:"mark"`
	// Times holds numbers of line ends after From, and the milliseconds after Started when the output had that many.
	// Both increase, or stay.
	Times [][2]int64 `json:"times"`
	// All is the time when the output had all bytes up to End, in milliseconds after Started, or -1 if it is not known.
	All int64 `json:"all"`
}

// serveTimes says when the lines of the output after an offset were written. The output of a PTY has no lines. The
// times of output are not known if the agent runs the command, or if it ended before the View was made.
func (v *View) serveTimes(w http.ResponseWriter, r *http.Request) {
	e, terminal := v.find(r)
	if terminal == nil || terminal.HasPTY() {
		http.NotFound(w, r)
		return
	}
	from, ok1 := numberIn(r, "from")
	mark, ok2 := numberIn(r, "mark")
	if !ok1 || !ok2 {
		http.Error(w, "from and mark must be numbers of bytes", http.StatusBadRequest)
		return
	}
	ctx, cancel := v.streamContext(r)
	defer cancel()
	row, _, _, _ := v.table.rowOf(e)
	message := countLines(ctx, terminal, from, mark, v.table.samplesOf(e), row.Started)
	message.Started, message.Ended = row.Started, row.Ended
	w.Header().Set("Content-Type", "application/json")
	sendZipped(w, r, encode(message))
}

// numberIn returns a number in a request's query. Without it, the number is 0.
func numberIn(r *http.Request, name string) (n int64, ok bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0
}

// countLines counts the line ends of the output so far, up to each sample and up to the mark.
func countLines(ctx context.Context, t output, from, mark int64, samples []sample, started int64) timesMessage {
	c := newLineCount(from, mark, samples, started)
	for chunk := range soFar(ctx, t, from) {
		if chunk.Offset != c.End { // the output before it is not retained
			c = newLineCount(chunk.Offset, mark, samples, started)
		}
		c.add(chunk.Raw)
	}
	if i := firstAt(samples, c.End); i < len(samples) {
		c.All = samples[i].at - started
	}
	return c.timesMessage
}

// lineCount counts the lines of a text, piece by piece.
type lineCount struct {
	timesMessage
	mark    int64    // offset
	samples []sample // those after End
	started int64
}

func newLineCount(from, mark int64, samples []sample, started int64) *lineCount {
	c := &lineCount{mark: mark, samples: samples, started: started}
	c.From, c.End, c.Mark, c.Times, c.All = from, from, -1, [][2]int64{}, -1
	if mark == from {
		c.Mark = 0
	}
	if i := firstAt(samples, from+1); i > 0 {
		c.samples = samples[i-1:]
		c.take()
	}
	return c
}

// add counts the lines of a piece.
func (c *lineCount) add(raw string) {
	for end := c.End + int64(len(raw)); c.End < end; {
		stop := end
		if len(c.samples) > 0 {
			stop = min(stop, c.samples[0].offset)
		}
		if c.mark > c.End {
			stop = min(stop, c.mark)
		}
		size := stop - c.End
		c.Lines += int64(strings.Count(raw[:size], "\n"))
		raw, c.End = raw[size:], stop
		if c.End == c.mark {
			c.Mark = c.Lines
		}
		for len(c.samples) > 0 && c.samples[0].offset == c.End {
			c.take()
		}
	}
}

// take adds the next sample, with the lines so far. Of several with the same number of lines, the first and the last
// say when the lines before and after were written.
func (c *lineCount) take() {
	next := [2]int64{c.Lines, max(0, c.samples[0].at-c.started)}
	c.samples = c.samples[1:]
	if n := len(c.Times); n > 1 && c.Times[n-1][0] == c.Lines && c.Times[n-2][0] == c.Lines {
		c.Times[n-1] = next
		return
	}
	c.Times = append(c.Times, next)
}
