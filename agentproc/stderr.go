package agentproc

// The agent's standard error: from a pipe to the embedder's writer, or in lines to a hook or a logger.

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm/internal/hook"
	"github.com/acpterm/acpterm/internal/notify"
)

const (
	maxStderrLine    = 16 << 10
	maxStderrWaiting = 1 << 20 // bytes of queued lines; a limit of 256 lines was less than one read
	stringHeader     = 16      // size in bytes of a string without its text
)

// stderr reads an agent's standard error to its end.
type stderr struct {
	pipe  *os.File
	to    io.Writer
	lines *lineWriter // the same as to, or nil if to is the embedder's writer
	busy  sync.WaitGroup
}

func newStderr(pipe *os.File, cmd *exec.Cmd, options Options) *stderr {
	if cmd.Stderr != nil {
		return &stderr{pipe: pipe, to: cmd.Stderr}
	}
	logger := cmp.Or(options.Logger, slog.Default()).With("agent", filepath.Base(cmd.Path))
	handle := options.Stderr
	if handle == nil {
		handle = func(line string) { logger.Info("acpterm: an agent's standard error", "line", line) }
	}
	lines := newLineWriter(handle, logger)
	return &stderr{pipe: pipe, to: lines, lines: lines}
}

// start starts the reading goroutine.
func (s *stderr) start() {
	s.busy.Go(func() {
		_, err := io.Copy(s.to, s.pipe)
		if errors.Is(err, os.ErrDeadlineExceeded) { // the writer was slow: the pipe may still contain the last lines
			s.pipe.SetReadDeadline(time.Now().Add(maxRestWait))
			io.Copy(s.to, io.LimitReader(s.pipe, maxRest))
		}
		io.Copy(io.Discard, s.pipe) // the agent must not wait if the writer fails
		if s.lines != nil {
			s.lines.end()
		}
	})
}

// lineWriter passes its input to a hook, in lines. It never waits for the hook.
type lineWriter struct {
	begun   []byte // the beginning of an unfinished line
	waiting notify.Queue[string]
	dropped atomic.Int64 // number of lines dropped since the last log message
}

func newLineWriter(handle func(line string), logger *slog.Logger) *lineWriter {
	w := new(lineWriter)
	w.waiting.Observe(func(line string) {
		hook.Call("Stderr", func() { handle(line) })
		if dropped := w.dropped.Swap(0); dropped > 0 {
			logger.Warn("acpterm: dropped lines of an agent's standard error", "lines", dropped)
		}
	})
	return w
}

// Write must be called by one goroutine only.
func (w *lineWriter) Write(p []byte) (n int, err error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxStderrLine - len(w.begun); len(line) > room {
			line, after, ended = rest[:room], rest[room:], true
		}
		w.begun = append(w.begun, line...)
		rest = after
		if ended {
			w.add()
		}
	}
	return len(p), nil
}

// add queues the begun line for the hook, unless too many lines are waiting.
func (w *lineWriter) add() {
	line := strings.ToValidUTF8(string(bytes.TrimSuffix(w.begun, []byte("\r"))), "\uFFFD")
	w.begun = w.begun[:0]
	if _, size := w.waiting.Waiting(); size.Bytes >= maxStderrWaiting {
		w.dropped.Add(1)
		return
	}
	w.waiting.Add(line, notify.Size{Bytes: stringHeader + int64(len(line))})
}

// end must be called after the last Write. It returns when the hook has been called with every line.
func (w *lineWriter) end() {
	if len(w.begun) > 0 {
		w.add()
	}
	w.waiting.Wait()
}
