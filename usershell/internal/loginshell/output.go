package loginshell

// The sink of a shell's output, which finds the environment in it.

import (
	"bytes"
	"errors"
	"slices"

	"github.com/acpterm/acpterm/internal/latch"
)

// maxOutput is the limit for a shell's output, in bytes. An environment has a few megabytes at most, and its output is
// about 3.5 times as large.
const maxOutput = 16 << 20

var errTooMuch = errors.New("too much output")

// output is a capture.Sink. Its result may be read once done is set, or when the Reader has drained the pipe.
type output struct {
	dumper dumper
	done   latch.Latch // the search has ended

	env []string // nil if not found
	err error    // why not, if known

	read     int    // bytes
	buf      []byte // from the first mark on, or the last bytes, which may begin a mark
	begun    bool   // buf begins with a mark
	searched int    // bytes of buf without an end mark
}

func (o *output) Reserve(n int) []byte {
	o.buf = slices.Grow(o.buf, n)
	return o.buf[len(o.buf) : len(o.buf)+n]
}

// Commit looks for an environment in the output so far. It drops later output.
func (o *output) Commit(n int) {
	if o.done.IsSet() {
		return
	}
	o.buf = o.buf[:len(o.buf)+n]
	o.read += n
	for o.env == nil && o.find() {
	}
	if o.env == nil && o.read > maxOutput {
		o.err = errTooMuch
	}
	if o.env != nil || o.err == errTooMuch {
		o.buf = nil
		o.done.Set()
	}
}

// find looks for the next mark. It reports whether another one may follow.
func (o *output) find() bool {
	begin, end := []byte(o.dumper.begin), []byte(o.dumper.end)
	if !o.begun {
		i := bytes.Index(o.buf, begin)
		if o.begun = i >= 0; !o.begun {
			tail := o.buf[max(0, len(o.buf)-len(begin)+1):]
			o.buf = append(o.buf[:0], tail...)
			return false
		}
		o.buf, o.searched = o.buf[i:], len(begin)
	}
	i := bytes.Index(o.buf[o.searched:], end)
	if i < 0 {
		o.searched = max(len(begin), len(o.buf)-len(end)+1)
		return false
	}
	frame := o.buf[:o.searched+i]
	o.env, o.err = parse(frame[bytes.LastIndex(frame, begin)+len(begin):])
	o.buf, o.begun = o.buf[o.searched+i+len(end):], false
	return true
}

// Close does nothing.
func (o *output) Close() {}
