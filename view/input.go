package view

// The requests that type into a terminal with a PTY and resize it, and the queue of input for commands that do not read
// yet.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

const (
	// maxInput is the maximum number of bytes of one request.
	maxInput = 64 << 10
	// maxWaiting is the maximum number of bytes that wait for one command to read them.
	maxWaiting = 4 * maxInput
)

// serveInput queues the user's input, and does not wait until the command reads it.
func (v *View) serveInput(w http.ResponseWriter, r *http.Request) {
	_, terminal := v.findToChange(w, r, v.options.Input)
	if terminal == nil {
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

// serveSize resizes a PTY to the pane of the user who types.
func (v *View) serveSize(w http.ResponseWriter, r *http.Request) {
	_, terminal := v.findToChange(w, r, v.options.Input)
	if terminal == nil {
		return
	}
	columns, err1 := strconv.Atoi(r.URL.Query().Get("columns"))
	rows, err2 := strconv.Atoi(r.URL.Query().Get("rows"))
	if err1 != nil || err2 != nil {
		http.Error(w, "columns and rows must be numbers", http.StatusBadRequest)
		return
	}
	switch err := terminal.Resize(columns, rows); {
	case errors.Is(err, acpterm.ErrInvalidParams):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil && terminal.HasPTY(): // it has ended, which the page may not know yet
		w.WriteHeader(http.StatusNoContent)
	case err != nil:
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// inputs queues input for terminals. Terminal.Write blocks while the command does not read, and cannot be interrupted,
// so each terminal has a goroutine while input waits for it. The pieces for one terminal are written in the order of
// add, one after the other; those for different terminals are written concurrently. The zero value is ready to use. All
// methods are safe for concurrent use; none blocks.
type inputs struct {
	mu      sync.Mutex
	closed  bool
	waiting map[*acpterm.Terminal]*waitingInput // only terminals with a goroutine
}

// waitingInput is the queue of one terminal.
type waitingInput struct {
	pieces [][]byte
	bytes  int // of the pieces and of the one being written
}

// add queues text for a terminal. It reports false if too much is waiting already, or after close.
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

// write writes the queue of a terminal until it is empty, or until a write fails because the command has ended.
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

// next returns the next piece. If it returns nil, the queue is empty and the terminal's goroutine ends.
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

// close drops the queued input. A write in progress continues.
func (i *inputs) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
}
