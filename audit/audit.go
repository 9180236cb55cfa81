// Package audit writes decisions, ends and survivors as lines of JSON, so that a command runs only once the line that
// allows it is on disk:
//
//	log, err := audit.Open("audit.json", roots...)
//	m, err := acpterm.NewManager(&acpterm.Options{Record: log.Record})
//	…
//	m.Close()
//	log.Close()
//
// It imports acpterm and the standard library.
package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/acpterm/acpterm"
)

// Log writes events as lines of JSON, one an event, as LogEvents does with slog.NewJSONHandler. Its method
// Record is for acpterm's Options.Record. Open makes one of a file, New of any writer. Several managers may share one.
//
// Lines that could not be written are kept, up to 16 MiB, and written first when there is more to write: a disk that
// was full for a while leaves no gap and no half line. So the file may have a decision for which Record failed; its
// command did not run, and its end says so. The first failure of several is logged. All methods may be called
// concurrently.
type Log struct {
	w     io.Writer
	sync  func() error // flushes w to the disk; nil if that means nothing
	close func() error // nil: w is not the Log's to close

	mu      sync.Mutex
	lines   bytes.Buffer        // lines that are not written; the first may be the rest of one
	encode  func(acpterm.Event) // writes to lines
	next    *batch              // the batch that lines is part of; nil until a write is asked for
	writing bool                // the goroutine that writes is running
	failing bool                // the last write failed
	closed  bool
}

// batch is what one write is for.
type batch struct {
	flush   bool
	written chan struct{} // closed when it was tried
	err     error         // once written is closed
}

// maxBytes is how many bytes wait to be written before Record waits.
const maxBytes = 16 << 20

// New returns a Log that writes to w, whole lines in each call of Write, one call at a time. If w has a method
// Sync() error, as an *os.File has, a decision is on record when that has returned; of an *os.File that is no regular
// file, such as a pipe, when it is written. Close does not close w.
func New(w io.Writer) *Log {
	l := &Log{w: w}
	l.encode = LogEvents(slog.New(slog.NewJSONHandler(&l.lines, nil)))
	if syncer, ok := w.(interface{ Sync() error }); ok && canSync(w) {
		l.sync = syncer.Sync
	}
	return l
}

// canSync reports whether a writer is not a file for which a flush is an error.
func canSync(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return true
	}
	info, err := file.Stat()
	return err != nil || info.Mode().IsRegular()
}

// Open returns a Log that appends to a file, which is made if it is missing. Close closes the file.
//
// The file is for its owner alone. On Unix, one that exists gets the mode 0600; it is refused if it belongs to another
// user or has a second hard link. On Windows it has the rights of its directory. It is refused everywhere if it is not
// a regular file, or if it is in one of the roots, links followed: what commands may write to, they may truncate,
// replace or move. Errors are *acpterm.Error of the kind ErrInternal.
func Open(path string, roots ...string) (*Log, error) {
	file, err := openFile(path, roots)
	if err != nil {
		return nil, &acpterm.Error{
			Op: "open audit", Kind: acpterm.ErrInternal, Reason: "the audit file cannot be used", Err: err,
		}
	}
	l := New(file)
	l.close = file.Close
	return l, nil
}

func openFile(path string, roots []string) (*os.File, error) {
	given, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	path, err = realPath(given)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		for _, name := range []string{path, given} { // a link in a root can be made to lead elsewhere
			inside, err := isInside(name, root)
			if err != nil {
				return nil, err
			}
			if inside {
				return nil, fmt.Errorf("%s is in %s, where commands may write: choose a file outside of it", name, root)
			}
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|openFlags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := ownFile(file, path); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// realPath is an absolute path without links; the file may be missing.
func realPath(path string) (string, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return filepath.EvalSymlinks(path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// isInside reports whether a directory is one of those that a file is in, by whatever name.
func isInside(path, dir string) (bool, error) {
	wanted, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil || os.SameFile(info, wanted) {
			return err == nil, err
		}
		if at == filepath.Dir(at) {
			return false, nil
		}
	}
}

// ownFile makes the file its owner's alone, or fails.
func ownFile(file *os.File, path string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return keepFromOthers(file, info)
}

// Record writes an event. Of an *acpterm.DecisionEvent that allows a command it returns when the line is written and
// flushed, with the error if that failed, or with ctx's when ctx ended first; then the line may be written later. Other
// events it leaves to a goroutine, which does not flush: their callers do not wait for the disk. While 16 MiB wait to
// be written, it waits for that, and fails if it fails. After Close it fails with os.ErrClosed.
func (l *Log) Record(ctx context.Context, event acpterm.Event) error {
	durable := false
	switch e := event.(type) {
	case *acpterm.StartEvent: // the line of the end says when it was
		return nil
	case *acpterm.DecisionEvent:
		durable = e.Verdict != acpterm.VerdictDeny
	}
	for {
		b, added, err := l.add(event, durable)
		if err != nil || added && !durable {
			return err
		}
		if err := b.await(ctx); err != nil || added {
			return err
		}
	}
}

// await returns when the batch is written, or when ctx ends first.
func (b *batch) await(ctx context.Context) error {
	select {
	case <-b.written:
		return b.err
	case <-ctx.Done():
	}
	select {
	case <-b.written: // the result comes first
		return b.err
	default:
		return fmt.Errorf("the audit is not written yet: %w", context.Cause(ctx))
	}
}

// add adds a line to the next batch, if there is room, and has the batch written.
func (l *Log) add(event acpterm.Event, flush bool) (b *batch, added bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false, os.ErrClosed
	}
	if added = l.lines.Len() < maxBytes; added {
		l.encode(event)
	}
	return l.requestLocked(flush), added, nil
}

// requestLocked has all lines written, in a batch.
func (l *Log) requestLocked(flush bool) *batch {
	if l.next == nil {
		l.next = &batch{written: make(chan struct{})}
	}
	l.next.flush = l.next.flush || flush
	if !l.writing {
		l.writing = true
		go l.writeBatches()
	}
	return l.next
}

// writeBatches writes until no batch is asked for. What comes during a write and a flush is one batch: many creates
// share a flush.
func (l *Log) writeBatches() {
	for {
		l.mu.Lock()
		b, data := l.next, l.lines.Bytes()
		if b == nil {
			l.writing = false
			l.mu.Unlock()
			return
		}
		l.next, l.lines = nil, bytes.Buffer{}
		l.mu.Unlock()

		n, err := l.write(data, b.flush)
		l.mu.Lock()
		if rest := data[n:]; len(rest) > 0 {
			l.lines = *bytes.NewBuffer(append(rest, l.lines.Bytes()...))
		}
		first := err != nil && !l.failing
		l.failing = err != nil
		l.mu.Unlock()
		if first {
			slog.Error("acpterm: the audit cannot be written", "error", err)
		}
		b.err = err
		close(b.written)
	}
}

// write returns how much was written. Its errors do not name the file, since agents may see them, and a panic of the
// writer is one.
func (l *Log) write(data []byte, flush bool) (n int, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("acpterm: the audit's writer panicked", "panic", fmt.Sprint(panicked),
				"stack", string(debug.Stack()))
			err = errors.New("the audit's writer panicked")
		}
		n = min(max(n, 0), len(data))
	}()
	if len(data) > 0 {
		n, err = l.w.Write(data)
	}
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil && flush && l.sync != nil {
		err = l.sync()
	}
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", failure.Op, failure.Err)
	}
	return n, err
}

// Close returns when all lines are written and flushed, or fails with the error if they cannot be, and closes the file
// that Open opened. Call it when the managers that use it are closed. A second call fails with os.ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return os.ErrClosed
	}
	l.closed = true
	b := l.requestLocked(true)
	l.mu.Unlock()
	<-b.written
	err := b.err
	if l.close != nil {
		err = errors.Join(err, l.close())
	}
	return err
}
