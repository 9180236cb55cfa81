package acpterm

// terminal/output's reply as JSON, at the speed of memory: output is escaped once, and what was escaped for one poll
// is not escaped again for the next. It reads ring buffers and makes bytes, and knows of no connection.

import (
	"encoding/json"
	"math/bits"
	"slices"
	"sort"
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
	// markEvery is how many bytes of output lie between two marks at most.
	markEvery = 4 << 10
)

// outputCache makes the replies of one connection. Its methods may be called concurrently.
type outputCache struct {
	mu      sync.Mutex
	outputs []*escapedOutput // the one polled last comes last
}

// reply returns the line that answers a poll with this id, in pieces that nobody changes any more.
func (c *outputCache) reply(t *Terminal, id []byte) [][]byte {
	var shape TerminalOutputResponse
	shape.ExitStatus = t.exitStatusIfEnded() // before the output, as in Terminal.Output
	var lead, body []byte
	if t.ring.total() <= shortOutput {
		text, truncated := t.ring.last(t.limit)
		lead, shape.Truncated = appendEscaped(nil, text), truncated
	} else {
		lead, body, shape.Truncated = c.escaped(t)
	}
	// What stands around the output: the reply without it, cut open.
	head, tail := openReply(id, shape)
	head = append(head, lead...)
	if len(body) == 0 {
		return [][]byte{append(head, tail...)}
	}
	return [][]byte{head, body, tail}
}

// openReply returns what stands before and after the output's text in the reply.
func openReply(id []byte, shape TerminalOutputResponse) (head, tail []byte) {
	const output = `{"output":"` // the first field of the type
	result, err := json.Marshal(shape)
	if err != nil {
		panic(err) // it is made of numbers, names and text
	}
	head = append(appendResponseID(nil, id), `"result":`+output...)
	return head, append(result[len(output):], "}\n"...)
}

// escaped returns a terminal's output as it stands in a JSON string, in two pieces.
func (c *outputCache) escaped(t *Terminal) (lead, body []byte, truncated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.outputs, func(o *escapedOutput) bool { return o.ring == t.ring })
	o := &escapedOutput{ring: t.ring, limit: t.limit}
	if i >= 0 {
		o = c.outputs[i]
		c.outputs = slices.Delete(c.outputs, i, i+1)
	}
	o.update()
	c.outputs = append(c.outputs, o)
	size := 0
	for i := len(c.outputs) - 1; i >= 0; i-- {
		size += cap(c.outputs[i].json)
		if len(c.outputs)-i > maxCachedOutputs || size > maxCachedBytes && i < len(c.outputs)-1 {
			c.outputs = slices.Delete(c.outputs, 0, i+1)
			break
		}
	}
	return o.lead, o.body, o.truncated
}

// forget forgets a terminal that is released.
func (c *outputCache) forget(t *Terminal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outputs = slices.DeleteFunc(c.outputs, func(o *escapedOutput) bool { return o.ring == t.ring })
}

// escapedOutput is the last of a terminal's output, escaped. It grows at its end as the output does, and its beginning
// moves on from mark to mark; what lies between the first byte to show and the next mark is escaped anew.
//
// Bytes that are in json are never changed in place, so that a reply may be written while the next one is made.
type escapedOutput struct {
	ring  *ringBuffer
	limit int64

	seen   int64 // the ring's total and closed, when they were last looked at
	closed bool

	json  []byte
	marks []mark // ascending; none if the output cannot be escaped piece by piece
	end   int64  // the offset in the output after what is in json

	// What to show: both pieces, one after the other.
	lead, body []byte
	truncated  bool
}

// mark is where in json the byte at an offset of the output is. It begins a character.
type mark struct {
	offset int64
	at     int
}

// update makes it what the output is now.
func (o *escapedOutput) update() {
	const look = markEvery + 4*contextBytes
	e := o.ring.edges(o.limit, look, o.end)
	if o.body != nil && e.end == o.seen && e.closed == o.closed {
		return
	}
	o.seen, o.closed = e.end, e.closed
	news := e.tail
	if !e.closed {
		news = news[:len(news)-unfinished(news)]
	}
	first := 0
	if len(o.marks) == 0 || e.tailAt > o.end { // a beginning: there was nothing, or all of it has gone by
		first = max(0, len(news)-int(o.limit))
		for first < len(news) && !startsCharacter(news, first) {
			first++
		}
		o.json, o.marks, o.end = nil, []mark{{e.tailAt + int64(first), 0}}, e.tailAt+int64(first)
	}
	if !utf8.ValidString(news[first:]) { // then how much may be shown depends on all of it
		text, truncated := o.ring.last(o.limit)
		o.json, o.marks, o.end = nil, nil, 0
		o.lead, o.body, o.truncated = nil, appendEscaped([]byte{}, text), truncated
		return
	}
	o.append(news[first:])
	o.show(e.head, e.headAt)
}

// append escapes text that follows what is there, and marks it.
func (o *escapedOutput) append(text string) {
	for len(text) > 0 {
		n := int(markEvery - (o.end - o.marks[len(o.marks)-1].offset))
		for n < len(text) && n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		if n = min(n, len(text)); n <= 0 {
			o.marks = append(o.marks, mark{o.end, len(o.json)})
			continue
		}
		o.json = appendEscaped(o.json, text[:n])
		o.end += int64(n)
		text = text[n:]
	}
}

// show says what to show: as many of the last bytes as the limit lets whole characters be. head are the output's bytes
// from the offset headAt on, which is at or before the first of them, up to the next mark at least.
func (o *escapedOutput) show(head string, headAt int64) {
	start := o.end - o.limit
	if start <= o.marks[0].offset {
		o.lead, o.body, o.truncated = nil, o.json[o.marks[0].at:len(o.json):len(o.json)], o.marks[0].offset > 0
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
	o.marks = o.marks[next-1:] // one before start, and those after
	if gone := o.marks[0].at; gone > len(o.json)/2 {
		o.json = append(make([]byte, 0, len(o.json)), o.json[gone:]...)
		o.marks = slices.Clone(o.marks)
		for i := range o.marks {
			o.marks[i].at -= gone
		}
	}
	o.lead = appendEscaped(nil, between)
	o.body = o.json[o.marks[1].at:len(o.json):len(o.json)]
	o.truncated = true
}

// appendEscaped appends text as it stands between the quotes of a JSON string. It escapes what JSON wants escaped, and
// U+2028 and U+2029, which end a line for some readers of lines. The text is valid UTF-8.
func appendEscaped(to []byte, text string) []byte {
	to = slices.Grow(to, len(text)+len(text)/16)
	done := 0 // what is before it is in to
	for i := 0; i < len(text); {
		if i+8 <= len(text) {
			special := specialBytes(word(text[i : i+8]))
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
		}
		c := text[i]
		var short byte
		switch {
		case c == '"', c == '\\':
			short = c
		case c == '\n':
			short = 'n'
		case c == '\r':
			short = 'r'
		case c == '\t':
			short = 't'
		case c < ' ':
			to = append(append(to, text[done:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			i++
			done = i
			continue
		case c == 0xE2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2]&^1 == 0xA8:
			to = append(append(to, text[done:i]...), '\\', 'u', '2', '0', '2', hex[text[i+2]&15])
			i += 3
			done = i
			continue
		default:
			i++
			continue
		}
		to = append(append(to, text[done:i]...), '\\', short)
		i++
		done = i
	}
	return append(to, text[done:]...)
}

const hex = "0123456789abcdef"

// word is eight bytes as a number, the first one lowest.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// specialBytes sets the high bit of the first byte of eight that may have to be escaped, and none if there is none.
// What it says of later ones does not count.
func specialBytes(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	zero := func(w uint64) uint64 { return (w - ones) &^ w } // the high bits of bytes that are 0
	return (((w - ones*' ') &^ w) | zero(w^ones*'"') | zero(w^ones*'\\') | zero(w^ones*0xE2)) & highs
}
