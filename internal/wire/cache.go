package wire

// Responses to polls. Output is escaped once: the escaped text of one poll is kept for the next.

import (
	"errors"
	"slices"
	"sync"
	"unicode/utf8"
)

const (
	// Output of up to shortOutput bytes is not worth keeping escaped.
	shortOutput = 4 << 10
	// maxCachedOutputs bounds the number of kept outputs. Agents poll one or two at a time.
	maxCachedOutputs = 8
	// maxCachedBytes bounds their bytes. The most recently polled output is kept even if it is larger.
	maxCachedBytes = 32 << 20
	// maxCachedRaw bounds the buffer for unescaped bytes kept between polls.
	maxCachedRaw = 2 << 20
	// blockSize is the number of output bytes in a block. A longer line is written block by block.
	blockSize = 32 << 10
)

// Output is the output that polls show: bytes at absolute offsets. Equal values of its type are the same output.
type Output interface {
	// Total returns the number of bytes written.
	Total() int64
	// Text returns the text for a poll: the last bytes as valid UTF-8, and the number of bytes before them.
	Text() (text string, start int64)
	// Window returns the bytes behind Text, unmodified: the first size of them, and those from the offset known on. It
	// appends to raw, which is empty.
	Window(raw []byte, known int64, size int) Window
	// Response reads everything in a poll's response except the text. It is called before the text is read. encode
	// returns the response as JSON for a text that begins at the offset start. The text, still empty, is the first
	// member, "output".
	Response() (encode func(start int64) []byte)
}

// Window is a part of an output. If it is valid UTF-8, the response to a poll has exactly these bytes.
type Window struct {
	Start, End int64  // offsets; Start begins a character
	Head       []byte // the bytes from Start on: at least the first size of them, or all
	News       []byte // the bytes from Start or the offset known, whichever is later, to End
	Raw        []byte // backs Head and News; reused by the next call
}

// Cache answers the polls of one connection. The zero value is empty. Only one goroutine at a time may call Reply;
// Forget may be called concurrently.
type Cache struct {
	raw []byte // used by Reply only

	mu      sync.Mutex
	outputs []*escapedOutput // least recently polled first; Reply removes the one it works on
}

// beforeText begins the result of a poll. Output.Response begins with it too.
const beforeText = `{"output":"`

// ErrTooLong is returned by Reply if the line would be longer than MaxLine.
var ErrTooLong = errors.New("the line is too long")

// Reply writes the line that answers a poll, in pieces. After ErrTooLong, nothing has been written.
func (c *Cache) Reply(o Output, id []byte, write func([]byte) error) error {
	encode := o.Response()
	e := &escapedOutput{output: o}
	if o.Total() > shortOutput {
		e = c.take(o)
		defer c.keep(e)
		if c.raw = e.update(c.raw[:0]); cap(c.raw) > maxCachedRaw {
			c.raw = nil
		}
	} else {
		e.escape()
	}
	head := append(append(appendResponse(nil, id), `"result":`...), beforeText...)
	tail := append(encode(e.start)[len(beforeText):], "}\n"...)
	pieces, size := append(make([][]byte, 0, len(e.blocks)+2), head), len(head)+len(tail)
	for _, b := range e.blocks {
		pieces, size = append(pieces, b.json), size+len(b.json)
	}
	pieces = append(pieces, tail)
	switch {
	case size > MaxLine:
		return ErrTooLong
	case size <= blockSize:
		return write(slices.Concat(pieces...))
	}
	for _, piece := range pieces {
		if err := write(piece); err != nil {
			return err
		}
	}
	return nil
}

// take removes an output from the cache and returns it, or returns a new one.
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

// keep adds an output to the cache, and evicts the least recently polled ones if there are too many.
func (c *Cache) keep(e *escapedOutput) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = append(c.outputs, e)
	size := 0
	for i := len(c.outputs) - 1; i >= 0; i-- {
		size += c.outputs[i].size()
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

// escapedOutput holds the text last shown of an output, escaped, in blocks. The next poll adds blocks at the end, and
// drops those no longer shown.
type escapedOutput struct {
	output Output

	from, to int64 // offsets of the shown bytes
	blocks   []block
	valid    bool  // blocks hold exactly these bytes; if false, one block holds their replacements
	start    int64 // number of bytes before the text of blocks
}

type block struct {
	from, to int64
	json     []byte
}

func (e *escapedOutput) size() (bytes int) {
	for _, b := range e.blocks {
		bytes += cap(b.json)
	}
	return bytes
}

// update escapes new output. It reads into raw, and returns it.
func (e *escapedOutput) update(raw []byte) []byte {
	w := e.output.Window(raw, e.to, blockSize)
	changed := w.Start != e.from || w.End != e.to
	if changed && !(e.valid && w.Start <= e.to && utf8.Valid(w.News)) {
		w = e.output.Window(w.Raw[:0], 0, blockSize)
		e.blocks, e.valid = nil, utf8.Valid(w.News)
	}
	switch {
	case changed && e.valid:
		e.from, e.to, e.start = w.Start, w.End, w.Start
		e.drop(w)
	case changed:
		w = e.replaceInvalid(w)
	}
	for news := w.News; e.valid && len(news) > 0; {
		n := e.append(news, w.End-int64(len(news)))
		news = news[n:]
	}
	return w.Raw
}

// replaceInvalid shows invalid UTF-8. A replacement is longer than the byte, so less is shown.
func (e *escapedOutput) replaceInvalid(w Window) Window {
	e.escape()
	e.from, e.to = w.Start, w.End
	now := e.output.Window(w.Raw[:0], e.to, 0)
	if now.Start != e.from || now.End != e.to { // text may have more, so the next poll reads it again
		e.to = -1
	}
	return now
}

// escape escapes the whole text into one block.
func (e *escapedOutput) escape() {
	var text string
	text, e.start = e.output.Text()
	e.blocks = []block{{json: appendEscaped(nil, []byte(text))}}
}

// drop drops the bytes before a window. It escapes the rest of a partly shown block again.
func (e *escapedOutput) drop(w Window) {
	e.blocks = slices.DeleteFunc(e.blocks, func(b block) bool { return b.to <= w.Start })
	if len(e.blocks) > 0 && e.blocks[0].from < w.Start {
		first := &e.blocks[0]
		first.json = appendEscaped(first.json[:0], w.Head[:first.to-w.Start])
		first.from = w.Start
	}
}

// append escapes as much of a text at an offset as the last block has room for, and returns its length.
func (e *escapedOutput) append(text []byte, offset int64) int {
	if n := len(e.blocks); n == 0 || e.blocks[n-1].to-e.blocks[n-1].from >= blockSize-utf8.UTFMax {
		room := min(len(text), blockSize)
		e.blocks = append(e.blocks, block{from: offset, to: offset, json: make([]byte, 0, room+room/4)})
	}
	last := &e.blocks[len(e.blocks)-1]
	n := wholeCharacters(text, int(blockSize-(last.to-last.from)))
	last.json = appendEscaped(last.json, text[:n])
	last.to += int64(n)
	return n
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
