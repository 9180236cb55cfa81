package wire

// Responses to polls. Output is escaped once: what was escaped for one poll is kept for the next.

import (
	"slices"
	"sort"
	"strconv"
	"sync"
	"unicode/utf8"
)

const (
	// shortOutput is how many bytes of output are not worth keeping escaped.
	shortOutput = 4 << 10
	// maxCachedOutputs bounds the outputs that are kept. Agents poll one or two at a time.
	maxCachedOutputs = 8
	// maxCachedBytes bounds their bytes. The output that was polled last is kept even if it is larger.
	maxCachedBytes = 32 << 20
	// maxCachedRaw bounds the buffer for unescaped bytes that is kept between polls.
	maxCachedRaw = 2 << 20
	// writeEvery is how many bytes of new output are escaped between two writes. The peer reads them while the next are
	// escaped.
	writeEvery = 64 << 10
	// markEvery bounds the bytes of output between two marks.
	markEvery = 4 << 10
)

// Output is the output that polls show: bytes at absolute offsets. Its type is comparable, and equal values are the
// same output.
type Output interface {
	// Total returns how many bytes were written.
	Total() int64
	// Text returns what a poll shows: the last bytes as valid UTF-8, and whether bytes before them are left out.
	Text() (text string, truncated bool)
	// Window returns the bytes that Text shows, as they were written: the first size of them, and those from the offset
	// known on. It appends to raw, which is empty.
	Window(raw []byte, known int64, size int) Window
	// ExitStatus returns how the command ended, as JSON; nil while it runs. Once it is not nil, Text and Window have
	// all that the command wrote.
	ExitStatus() []byte
}

// Window is a part of an output. If it is valid UTF-8, the response to a poll has exactly these bytes.
type Window struct {
	Start, End int64  // offsets; Start begins a character
	Head       []byte // the bytes from Start on, at least the first size, or all
	News       []byte // the bytes from the later of Start and the offset known, to End
	Raw        []byte // holds Head and News; for the next call
}

// Cache answers the polls of one connection. The zero value is empty. Reply is for one goroutine at a time; Forget may
// be called concurrently.
type Cache struct {
	raw []byte // for Reply alone

	mu      sync.Mutex
	outputs []*escapedOutput // the one polled last comes last; Reply takes out the one that it works on
}

// appendPollHead appends the part of a poll's response before the text.
func appendPollHead(to, id []byte) []byte {
	return append(appendResponse(to, id), `"result":{"output":"`...)
}

// appendPollTail appends the part after the text.
func appendPollTail(to []byte, truncated bool, exitStatus []byte) []byte {
	to = strconv.AppendBool(append(to, `","truncated":`...), truncated)
	if exitStatus != nil {
		to = append(append(to, `,"exitStatus":`...), exitStatus...)
	}
	return append(to, "}}\n"...)
}

// ShortReply returns the line that answers a poll, or nil if the output is long.
func ShortReply(o Output, id []byte) []byte {
	if o.Total() > shortOutput {
		return nil
	}
	status := o.ExitStatus() // before the text
	text, truncated := o.Text()
	line := make([]byte, 0, len(text)+len(text)/4+len(status)+128)
	return appendPollTail(appendEscaped(appendPollHead(line, id), []byte(text)), truncated, status)
}

// Reply writes the line that answers a poll, in pieces: the first are written before the last are escaped.
func (c *Cache) Reply(o Output, id []byte, write func([]byte) error) error {
	if line := ShortReply(o, id); line != nil {
		return write(line)
	}
	status := o.ExitStatus() // before the window
	e := c.take(o)
	defer c.keep(e)
	head := appendPollHead(nil, id)
	var err error
	emit := func(text []byte) {
		if len(head) > 0 {
			text, head = append(head, text...), nil
		}
		if err == nil && len(text) > 0 {
			err = write(text)
		}
	}
	c.raw = e.update(c.raw[:0], emit)
	if cap(c.raw) > maxCachedRaw {
		c.raw = nil
	}
	emit(appendPollTail(nil, e.truncated, status))
	return err
}

// take removes an output from the cache and returns it, or a new one.
func (c *Cache) take(o Output) *escapedOutput {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.outputs, func(e *escapedOutput) bool { return e.output == o })
	if i < 0 {
		return &escapedOutput{output: o}
	}
	e := c.outputs[i]
	c.outputs = slices.Delete(c.outputs, i, i+1)
	return e
}

// keep puts an output into the cache, and removes those that were polled longest ago if there are too many.
func (c *Cache) keep(e *escapedOutput) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = append(c.outputs, e)
	size := 0
	for i := len(c.outputs) - 1; i >= 0; i-- {
		size += cap(c.outputs[i].json)
		if len(c.outputs)-i > maxCachedOutputs || size > maxCachedBytes && i < len(c.outputs)-1 {
			c.outputs = slices.Delete(c.outputs, 0, i+1)
			return
		}
	}
}

// Forget removes an output from the cache.
func (c *Cache) Forget(o Output) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = slices.DeleteFunc(c.outputs, func(e *escapedOutput) bool { return e.output == o })
}

// escapedOutput is the end of an output, escaped. It grows as the output does. Its beginning moves from mark to mark;
// the bytes from the first one shown to the next mark are escaped for each poll.
type escapedOutput struct {
	output Output

	json  []byte
	marks []mark // ascending; none if the output cannot be escaped piece by piece
	end   int64  // offset in the output of the end of json

	// What was shown last: the bytes between two offsets, escaped, in two pieces. body is a part of json.
	from, to   int64
	lead, body []byte
	truncated  bool
}

// mark is the place in json of the byte at an offset of the output. It begins a character.
type mark struct {
	offset int64
	at     int
}

// update escapes what is new in the output, and emits all that is shown. It reads into raw, and returns it.
func (e *escapedOutput) update(raw []byte, emit func([]byte)) []byte {
	known := int64(0)
	if len(e.marks) > 0 {
		known = e.end
	}
	w := e.output.Window(raw, known, markEvery)
	if w.Start == e.from && w.End == e.to {
		emit(e.lead)
		emit(e.body)
		return w.Raw
	}
	e.from, e.to = w.Start, w.End
	begins := len(e.marks) == 0 || w.Start >= e.end // nothing of json is shown any more
	if begins {
		e.json, e.marks, e.end = e.json[:0], append(e.marks[:0], mark{w.Start, 0}), w.Start
	}
	switch {
	case !utf8.Valid(w.News): // its replacement is longer, so that less is shown
		text, truncated := e.output.Text()
		e.marks = nil
		e.json = appendEscaped(e.json[:0], []byte(text))
		e.lead, e.body, e.truncated = nil, e.json, truncated
		emit(e.body)
	case begins:
		e.json = slices.Grow(e.json, len(w.News)+len(w.News)/4)
		for news := w.News; len(news) > 0; {
			n := wholeCharacters(news, writeEvery)
			from := len(e.json)
			e.append(news[:n])
			emit(e.json[from:])
			news = news[n:]
		}
		e.lead, e.body, e.truncated = nil, e.json, w.Start > 0
	default:
		e.append(w.News)
		e.show(w)
		emit(e.lead)
		emit(e.body)
	}
	return w.Raw
}

// append escapes text that follows json, with marks.
func (e *escapedOutput) append(text []byte) {
	for len(text) > 0 {
		n := wholeCharacters(text, int(markEvery-(e.end-e.marks[len(e.marks)-1].offset)))
		if n == 0 {
			e.marks = append(e.marks, mark{e.end, len(e.json)})
			continue
		}
		e.json = appendEscaped(e.json, text[:n])
		e.end += int64(n)
		text = text[n:]
	}
}

// wholeCharacters returns how many of the first n bytes of a text are whole characters.
func wholeCharacters(text []byte, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// show sets lead and body to what a window shows, and drops what lies before it.
func (e *escapedOutput) show(w Window) {
	e.truncated = w.Start > 0
	next := sort.Search(len(e.marks), func(i int) bool { return e.marks[i].offset >= w.Start })
	if next == len(e.marks) {
		e.marks = append(e.marks, mark{e.end, len(e.json)})
	}
	e.lead = appendEscaped(e.lead[:0], w.Head[:e.marks[next].offset-w.Start])
	if next > 1 {
		e.marks = slices.Delete(e.marks, 0, next-1) // the last one before start stays
		next = 1
	}
	if gone := e.marks[0].at; gone > len(e.json)/2 {
		e.json = slices.Delete(e.json, 0, gone)
		for i := range e.marks {
			e.marks[i].at -= gone
		}
	}
	e.body = e.json[e.marks[next].at:]
}
