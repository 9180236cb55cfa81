package view

// The request that types into a terminal with a PTY, and what waits for commands to read it.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

const (
	// maxInput is the number of bytes of one request.
	maxInput = 64 << 10
	// maxWaiting is the number of bytes that wait for one command to read them.
	maxWaiting = 4 * maxInput
)

// serveInput queues what a person has typed, and does not wait until the command reads it.
func (v *View) serveInput(w http.ResponseWriter, r *http.Request) {
	if refusal := v.admitChange(r, v.options.Input); refusal != "" {
		http.Error(w, refusal, http.StatusForbidden)
		return
	}
	_, terminal := v.find(r)
	if terminal == nil {
		http.NotFound(w, r)
		return
	}
	switch info := terminal.Info(); {
	case !info.HasPTY:
		http.Error(w, "the command has no PTY", http.StatusConflict)
		return
	case !takesInput(info):
		http.Error(w, "the command has ended", http.StatusConflict)
		return
	}
	control := http.NewResponseController(w)
	stop := context.AfterFunc(v.ctx, func() { control.SetReadDeadline(time.Unix(1, 0)) })
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxInput))
	stop()
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLong:
		http.Error(w, "too much at once", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the request is not whole", http.StatusBadRequest)
	case !v.typed.add(terminal, text):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the command does not read what is typed", http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// inputs is what waits to be written to terminals. A Terminal.Write waits while the command does not read and cannot be
// interrupted, so each terminal has a goroutine for it, as long as something waits for that terminal. The pieces of one
// terminal are written in the order of add, one after the other; those of different terminals concurrently. The zero
// value is ready. All methods may be called concurrently; none blocks.
type inputs struct {
	mu      sync.Mutex
	closed  bool
	waiting map[*acpterm.Terminal]*waitingInput // of the terminals that have a goroutine
}

// waitingInput is what waits for one terminal.
type waitingInput struct {
	pieces [][]byte
	bytes  int // of them, and of the piece that is being written
}

// add queues a text for a terminal, and reports false if too much waits already, or after close.
func (i *inputs) add(terminal *acpterm.Terminal, text []byte) bool {
	if len(text) == 0 {
		return true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	waiting := i.waiting[terminal]
	switch {
	case i.closed:
		return false
	case waiting == nil:
		if i.waiting == nil {
			i.waiting = make(map[*acpterm.Terminal]*waitingInput)
		}
		waiting = &waitingInput{}
		i.waiting[terminal] = waiting
		go i.write(terminal, waiting)
	case waiting.bytes+len(text) > maxWaiting:
		return false
	}
	waiting.pieces = append(waiting.pieces, text)
	waiting.bytes += len(text)
	return true
}

// write writes what waits for a terminal until nothing does, or a write fails because the command has ended.
func (i *inputs) write(terminal *acpterm.Terminal, waiting *waitingInput) {
	for piece := i.next(terminal, waiting); piece != nil; piece = i.next(terminal, waiting) {
		_, err := terminal.Write(piece)
		i.mu.Lock()
		waiting.bytes -= len(piece)
		if err != nil {
			waiting.pieces, waiting.bytes = nil, 0
		}
		i.mu.Unlock()
	}
}

// next takes the next piece; nil if there is none, and then the terminal's goroutine ends.
func (i *inputs) next(terminal *acpterm.Terminal, waiting *waitingInput) (piece []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || len(waiting.pieces) == 0 {
		delete(i.waiting, terminal)
		return nil
	}
	piece, waiting.pieces = waiting.pieces[0], waiting.pieces[1:]
	return piece
}

// close drops what waits. A write that is under way goes on.
func (i *inputs) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
}
