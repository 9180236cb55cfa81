package wire

// The response to a poll as JSON: output is escaped once, and what was escaped for one poll is kept for the next.

import (
	"slices"
	"sort"
	"strconv"
	"sync"
	"unicode/utf8"
)

const (
	// shortOutput is how many bytes of output are escaped anew for each poll.
	shortOutput = 4 << 10
	// maxCachedOutputs is how many outputs are kept escaped. Agents poll one or two at a time.
	maxCachedOutputs = 8
	// maxCachedBytes bounds the same in bytes, but for the output that was polled last.
	maxCachedBytes = 32 << 20
	// maxCachedRaw bounds the buffer for bytes not escaped yet that is kept from one poll to the next.
	maxCachedRaw = 2 << 20
	// writeEvery is how many bytes of new output are escaped before they are written, so that the peer reads them while the next
	// are escaped.
	writeEvery = 64 << 10
	// markEvery is how many bytes of output lie between two marks at most.
	markEvery = 4 << 10
)

// Output is an output at absolute offsets, of which polls show the end. It is comparable; equal ones are the same output.
type Output interface {
	// Total is how many bytes there are so far.
	Total() int64
	// Text is what a poll shows: the last bytes as valid UTF-8, and whether there are bytes before them.
	Text() (text string, truncated bool)
	// Window is what Text would show of the output so far, as it was written. It appends to raw, which is empty.
	Window(raw []byte, known int64, size int) Window
	// ExitStatus is how the command ended, as JSON; nil while it runs. All that the command wrote is in a Text or Window that is
	// read later.
	ExitStatus() []byte
}

// Window is what a poll shows of an output. If it is valid UTF-8 the response has exactly these bytes.
type Window struct {
	Start, End int64  // offsets of the first byte, which begins a character, and after the last
	Head       []byte // the first size bytes, or all
	News       []byte // those that are not known: from the offset known on, or from start if that is later
	Raw        []byte // holds Head and News, for the next call
}

// Cache makes the responses to the polls of one connection.
type Cache struct {
	raw []byte // Reply's, from one poll to the next

	mu      sync.Mutex
	outputs []*escapedOutput // the one polled last comes last; the one that Reply works on is not among them
}

// appendPollHead appends what stands before the output's text in the response to a poll.
func appendPollHead(to, id []byte) []byte {
	return append(appendResponseID(to, id), `"result":{"output":"`...)
}

// appendPollTail appends what stands after the text.
func appendPollTail(to []byte, truncated bool, exitStatus []byte) []byte {
	to = strconv.AppendBool(append(to, `","truncated":`...), truncated)
	if exitStatus != nil {
		to = append(append(to, `,"exitStatus":`...), exitStatus...)
	}
	return append(to, "}}\n"...)
}

// ShortReply returns the line that answers a poll with this id, if the output is short; nil if it is not.
func ShortReply(o Output, id []byte) []byte {
	if o.Total() > shortOutput {
		return nil
	}
	status := o.ExitStatus() // before the text, which is complete then
	text, truncated := o.Text()
	line := make([]byte, 0, len(text)+len(text)/4+len(status)+128)
	return appendPollTail(appendEscaped(appendPollHead(line, id), []byte(text)), truncated, status)
}

// Reply writes the line that answers a poll with this id, in pieces, the first ones before the last ones are escaped.
// It is for one goroutine at a time.
func (c *Cache) Reply(o Output, id []byte, write func([]byte) error) error {
	if line := ShortReply(o, id); line != nil {
		return write(line)
	}
	status := o.ExitStatus() // before the window, which is complete then
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

// take returns an escaped output as the last poll left it.
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

// keep keeps an escaped output for the next poll. If there are too many, those that were polled longest ago go.
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

// Forget removes an output that is not polled any more.
func (c *Cache) Forget(o Output) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = slices.DeleteFunc(c.outputs, func(e *escapedOutput) bool { return e.output == o })
}

// escapedOutput is the end of an output, escaped. It grows at its end as the output does. Its beginning moves from mark to mark;
// the bytes between the first one shown and the next mark are escaped for each poll.
type escapedOutput struct {
	output Output

	json  []byte
	marks []mark // ascending; none if the output cannot be escaped piece by piece
	end   int64  // the offset in the output after what is in json

	// What was shown last: the output from one offset to another, as text in two pieces. body is a part of json.
	from, to   int64
	lead, body []byte
	truncated  bool
}

// mark is where in json the byte at an offset of the output is. It begins a character.
type mark struct {
	offset int64
	at     int
}

// update brings it up to date with the output, and emits the text. It reads into raw, and returns it.
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
	case !utf8.Valid(w.News): // how much is shown depends on all of it
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

// append escapes text that follows what is there, and marks it.
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

// wholeCharacters is how many of the first n bytes of a text are whole characters.
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
