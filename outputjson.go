package acpterm

// terminal/output's reply as JSON, at the speed of memory: output is escaped once, and what was escaped for one poll
// is not escaped again for the next. It reads ring buffers and makes bytes, and knows of no connection.

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"sync"
	"unicode/utf8"
)

const (
	// shortOutput is how many bytes of output are escaped anew for each poll.
	shortOutput = 4 << 10
	// maxCachedOutputs is how many terminals' escaped output is kept. Agents poll one or two at a time.
	maxCachedOutputs = 8
	// maxCachedBytes bounds the same in bytes, but for the terminal that was polled last.
	maxCachedBytes = 32 << 20
	// maxCachedRaw is how big a buffer is kept for output on its way, so that it is not made anew each time.
	maxCachedRaw = 2 << 20
	// emitEvery is how many bytes of new output are escaped before they are written: while they are on their way, the
	// next are escaped.
	emitEvery = 64 << 10
	// markEvery is how many bytes of output lie between two marks at most.
	markEvery = 4 << 10
)

// outputCache makes the replies of one connection.
type outputCache struct {
	raw []byte // reply's: for bytes on their way from a ring

	mu      sync.Mutex
	outputs []*escapedOutput // the one polled last comes last; the one that reply works on is not among them
}

// replyHead is what stands before the output's text in the reply to a poll.
func replyHead(id []byte) []byte {
	return append(appendResponseID(nil, id), `"result":`+outputMember...)
}

// replyTail is what stands after the text. shape is the result without it.
func replyTail(shape TerminalOutputResponse) []byte {
	tail := strconv.AppendBool([]byte(`","truncated":`), shape.Truncated)
	if shape.ExitStatus != nil {
		tail = appendStatus(append(tail, `,"exitStatus":`...), *shape.ExitStatus)
	}
	return append(tail, "}}\n"...)
}

// outputMember is what a result begins with: the first field of its type.
const outputMember = `{"output":"`

// shortReply returns the line that answers a poll with this id, if the output is short; nil if it is not.
func shortReply(t *Terminal, id []byte) []byte {
	if t.ring.total() > shortOutput {
		return nil
	}
	var shape TerminalOutputResponse
	shape.ExitStatus = t.exitStatusIfEnded() // before the output, as in Terminal.Output
	text, truncated := t.ring.last(t.limit)
	shape.Truncated = truncated
	return append(appendEscaped(replyHead(id), []byte(text)), replyTail(shape)...)
}

// reply writes the line that answers a poll with this id, in pieces, the first ones before the last ones are escaped.
// It is for one goroutine at a time.
func (c *outputCache) reply(t *Terminal, id []byte, write func([]byte) error) error {
	if line := shortReply(t, id); line != nil {
		return write(line)
	}
	shape := TerminalOutputResponse{ExitStatus: t.exitStatusIfEnded()} // before the output, as in Terminal.Output
	o := c.take(t)
	defer c.keep(o)
	head := replyHead(id)
	var err error
	emit := func(text []byte) {
		if len(head) > 0 {
			text, head = append(head, text...), nil
		}
		if err == nil && len(text) > 0 {
			err = write(text)
		}
	}
	c.raw = o.update(c.raw[:0], emit)
	if cap(c.raw) > maxCachedRaw {
		c.raw = nil
	}
	shape.Truncated = o.truncated
	emit(replyTail(shape))
	return err
}

// take returns a terminal's escaped output as the last poll left it.
func (c *outputCache) take(t *Terminal) *escapedOutput {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.outputs, func(o *escapedOutput) bool { return o.terminal == t })
	if i < 0 {
		return &escapedOutput{terminal: t}
	}
	o := c.outputs[i]
	c.outputs = slices.Delete(c.outputs, i, i+1)
	return o
}

// keep keeps it for the next poll, and forgets those that were not polled for longest if there are too many.
func (c *outputCache) keep(o *escapedOutput) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = append(c.outputs, o)
	size := 0
	for i := len(c.outputs) - 1; i >= 0; i-- {
		size += cap(c.outputs[i].json)
		if len(c.outputs)-i > maxCachedOutputs || size > maxCachedBytes && i < len(c.outputs)-1 {
			c.outputs = slices.Delete(c.outputs, 0, i+1)
			return
		}
	}
}

// forget forgets a terminal.
func (c *outputCache) forget(t *Terminal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = slices.DeleteFunc(c.outputs, func(o *escapedOutput) bool { return o.terminal == t })
}

// escapedOutput is the last of a terminal's output, escaped. It grows at its end as the output does, and its beginning
// moves on from mark to mark; what lies between the first byte to show and the next mark is escaped anew.
type escapedOutput struct {
	terminal *Terminal

	seen  int64 // the ring's total, and whether it was final, when they were last looked at
	final bool
	ready bool // it was looked at

	json  []byte
	marks []mark // ascending; none if the output cannot be escaped piece by piece
	end   int64  // the offset in the output after what is in json

	// What was shown last: both pieces, one after the other. body is a part of json.
	lead, body []byte
	truncated  bool
}

// mark is where in json the byte at an offset of the output is. It begins a character.
type mark struct {
	offset int64
	at     int
}

// update makes it what the output is now, and emits that. It uses raw for bytes on their way, and returns it.
func (o *escapedOutput) update(raw []byte, emit func([]byte)) []byte {
	const look = markEvery + 4*contextBytes
	ring, limit := o.terminal.ring, o.terminal.limit
	e := ring.edges(raw, limit, look, o.end)
	if o.ready && e.end == o.seen && e.final == o.final {
		emit(o.lead)
		emit(o.body)
		return e.raw
	}
	o.seen, o.final, o.ready = e.end, e.final, true
	news := e.tail
	if !e.final {
		news = news[:len(news)-unfinished(string(news[max(0, len(news)-utf8.UTFMax):]))]
	}
	// There was nothing, or nothing of it is to be shown any more.
	begins := len(o.marks) == 0 || e.tailAt > o.end || len(news) >= int(limit)
	if begins {
		first := max(0, len(news)-int(limit))
		for first < len(news) && !startsCharacter(string(news[max(0, first-contextBytes):min(len(news), first+utf8.UTFMax)]), min(first, contextBytes)) {
			first++
		}
		news, o.end = news[first:], e.tailAt+int64(first)
		o.json, o.marks = o.json[:0], append(o.marks[:0], mark{o.end, 0})
	}
	switch {
	case !utf8.Valid(news): // how much may be shown depends on all of it
		text, truncated := ring.last(limit)
		o.marks, o.end = nil, 0
		o.json = appendEscaped(o.json[:0], []byte(text))
		o.lead, o.body, o.truncated = nil, o.json, truncated
		emit(o.body)
	case begins:
		o.truncated = o.end > 0
		o.json = slices.Grow(o.json, len(news)+len(news)/4)
		for len(news) > 0 {
			n := wholeCharacters(news, emitEvery)
			from := len(o.json)
			o.append(news[:n])
			emit(o.json[from:])
			news = news[n:]
		}
		o.lead, o.body = nil, o.json
	default:
		o.append(news)
		o.show(e.head, e.headAt, limit)
		emit(o.lead)
		emit(o.body)
	}
	return e.raw
}

// append escapes text that follows what is there, and marks it.
func (o *escapedOutput) append(text []byte) {
	for len(text) > 0 {
		n := wholeCharacters(text, int(markEvery-(o.end-o.marks[len(o.marks)-1].offset)))
		if n == 0 {
			o.marks = append(o.marks, mark{o.end, len(o.json)})
			continue
		}
		o.json = appendEscaped(o.json, text[:n])
		o.end += int64(n)
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

// show says what to show: as many of the last bytes as the limit lets whole characters be. head are the output's bytes
// from the offset headAt on, which is at or before the first of them, up to the next mark at least.
func (o *escapedOutput) show(head []byte, headAt, limit int64) {
	start := o.end - limit
	if start <= o.marks[0].offset { // all that is there
		o.lead, o.body, o.truncated = nil, o.json[o.marks[0].at:], o.marks[0].offset > 0
		return
	}
	next := sort.Search(len(o.marks), func(i int) bool { return o.marks[i].offset >= start })
	if next == len(o.marks) {
		o.marks = append(o.marks, mark{o.end, len(o.json)})
	}
	between := head[start-headAt : o.marks[next].offset-headAt]
	for len(between) > 0 && !utf8.RuneStart(between[0]) {
		between = between[1:]
	}
	o.marks = slices.Delete(o.marks, 0, next-1) // to one before start
	if gone := o.marks[0].at; gone > len(o.json)/2 {
		o.json = slices.Delete(o.json, 0, gone)
		for i := range o.marks {
			o.marks[i].at -= gone
		}
	}
	o.lead = appendEscaped(o.lead[:0], between)
	o.body = o.json[o.marks[1].at:]
	o.truncated = true
}

// appendEscaped appends text as it stands between the quotes of a JSON string. The text is valid UTF-8. What JSON wants
// escaped is, and so are U+2028 and U+2029, which end a line for some readers of lines.
//
// It goes by eight bytes at a time: they are put where they belong, and what comes from the first one on that is to be
// escaped is overwritten.
func appendEscaped(to, text []byte) []byte {
	const step = 8
	for len(text) >= step {
		to = slices.Grow(to, len(text)+len(text)/8+2*step)
		n, buf := len(to), to[:cap(to)]
		for len(text) >= step && n+2*step <= len(buf) {
			eight := binary.LittleEndian.Uint64(text)
			binary.LittleEndian.PutUint64(buf[n:], eight)
			special := specialBytes(eight)
			if special == 0 {
				n, text = n+step, text[step:]
				continue
			}
			plain := bits.TrailingZeros64(special) / 8
			n, text = n+plain, text[plain:]
			if c := text[0]; c != firstOf2028 {
				binary.LittleEndian.PutUint64(buf[n:], escapes[c].bytes)
				n, text = n+escapes[c].size, text[1:]
				continue
			}
			n += len(appendLineEnd(buf[n:n], text))
			text = text[utf8.RuneLen('\u2028'):]
		}
		to = buf[:n]
	}
	for len(text) > 0 {
		switch c := text[0]; {
		case c == firstOf2028:
			to = appendLineEnd(to, text)
			text = text[utf8.RuneLen('\u2028'):]
			continue
		case c < utf8.RuneSelf && escapes[c].size > 0:
			to = binary.LittleEndian.AppendUint64(to, escapes[c].bytes)
			to = to[:len(to)-8+escapes[c].size]
		default:
			to = append(to, c)
		}
		text = text[1:]
	}
	return to
}

// firstOf2028 is the first byte of U+2028, of U+2029, and of other characters of three bytes.
const firstOf2028 = 0xE2

// appendLineEnd appends the character that text begins with, escaped if it is one of the two that end a line.
func appendLineEnd(to, text []byte) []byte {
	if text[1] == 0x80 && text[2]&^1 == 0xA8 {
		return append(to, '\\', 'u', '2', '0', '2', hex[text[2]&15])
	}
	return append(to, text[:3]...)
}

const hex = "0123456789abcdef"

// escapes are the escape sequences of ASCII characters; the size is 0 where there is none.
var escapes = func() (all [utf8.RuneSelf]escape) {
	for c := range byte(' ') {
		all[c] = newEscape(fmt.Sprintf(`\u%04x`, c))
	}
	for c, sequence := range map[byte]string{
		'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
	} {
		all[c] = newEscape(sequence)
	}
	return all
}()

// escape is an escape sequence as a number, the first byte lowest, so that it can be written at once.
type escape struct {
	bytes uint64
	size  int
}

func newEscape(sequence string) (e escape) {
	for i := range sequence {
		e.bytes |= uint64(sequence[i]) << (8 * i)
	}
	e.size = len(sequence)
	return e
}

// specialBytes sets the high bit of the first byte of eight that may have to be escaped, and none if there is none. What
// it says of later ones does not count.
func specialBytes(eight uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash, line := eight^ones*'"', eight^ones*'\\', eight^ones*firstOf2028
	return ((eight-ones*' ')&^eight | (quote-ones)&^quote | (backslash-ones)&^backslash | (line-ones)&^line) & highs
}
