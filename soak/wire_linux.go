package main

// The agent's end of a connection: requests by id, and unmodified lines.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// wire is a connection to a handler.
type wire struct {
	to    *os.File
	from  *os.File
	ended <-chan struct{}

	writing sync.Mutex

	mu      sync.Mutex
	next    int
	pending map[string]chan answer
	other   func(id string, line []byte) // for lines that answer no call; dropped if nil
	readErr error
	over    chan struct{} // closed when no more answers will come
}

// answer is a JSON-RPC response.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func newWire(m *acpterm.Manager, other func(id string, line []byte)) (*wire, error) {
	from, to, ended, err := serveOn(m)
	if err != nil {
		return nil, err
	}
	w := &wire{to: to, from: from, ended: ended, other: other, pending: make(map[string]chan answer),
		over: make(chan struct{})}
	go w.read()
	return w, nil
}

func (w *wire) read() {
	defer close(w.over)
	in := bufio.NewReaderSize(w.from, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			w.take(line)
		}
		if err != nil {
			if err != io.EOF {
				w.mu.Lock()
				w.readErr = err
				w.mu.Unlock()
			}
			return
		}
	}
}

func (w *wire) take(line []byte) {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		w.mu.Lock()
		w.readErr = fmt.Errorf("a line that is not JSON: %.100q", line)
		w.mu.Unlock()
		return
	}
	w.mu.Lock()
	waiting := w.pending[string(a.ID)]
	delete(w.pending, string(a.ID))
	w.mu.Unlock()
	switch {
	case waiting != nil:
		waiting <- a
	case w.other != nil:
		w.other(string(a.ID), line)
	}
}

// write writes whole lines.
func (w *wire) write(lines []byte) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.to.Write(lines)
	return err
}

// call sends a request and returns its result.
func (w *wire) call(ctx context.Context, method string, params, result any) error {
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	c := make(chan answer, 1)
	w.mu.Lock()
	w.next++
	id := fmt.Sprintf("%q", fmt.Sprint("v", w.next))
	w.pending[id] = c
	w.mu.Unlock()
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, p)
	if err := w.write(line); err != nil {
		return err
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return fmt.Errorf("%s: %d %s", method, a.Error.Code, a.Error.Message)
		}
		return json.Unmarshal(a.Result, result)
	case <-w.over:
		return fmt.Errorf("%s: the connection ended", method)
	case <-ctx.Done():
		return fmt.Errorf("%s: not answered: %w", method, ctx.Err())
	}
}

// close ends the connection, and waits until the handler has finished with it.
func (w *wire) close() {
	w.to.Close()
	for _, ended := range []<-chan struct{}{w.ended, w.over} {
		select {
		case <-ended:
		case <-time.After(time.Minute):
		}
	}
	w.from.Close()
	<-w.over
}
