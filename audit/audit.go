// Package audit logs decisions, the end of commands, and surviving processes as lines of JSON. A command runs only once
// the line allowing it is on disk:
//
//	log, err := audit.Open("audit.json", roots...)
//	m, err := acpterm.NewManager(&acpterm.Options{Record: log.Record})
//	…
//	m.Close()
//	log.Close()
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

// A Log writes events as lines of JSON, in the format of LogEvents with a slog.JSONHandler. Set its Record method as
// acpterm.Options.Record. Use Open to log to a file, or New for any other writer. Several managers may share a Log.
//
// Lines that cannot be written are kept, up to 16 MiB, and written before any later ones, so a temporarily full disk
// causes neither gaps nor partial lines. The file may therefore contain a decision whose Record failed. Its command did
// not run, as the line for its end shows. Only the first of several failures in a row is reported, using slog. A Log is
// safe for concurrent use by multiple goroutines.
type Log struct {
	w     io.Writer
	sync  func() error // flushes w to disk, or nil if w cannot be flushed
	close func() error // closes w, or nil if the Log does not own w

	mu      sync.Mutex
	lines   bytes.Buffer        // unwritten lines; the first may be incomplete
	encode  func(acpterm.Event) // appends to lines
	next    *batch              // the batch that lines belongs to, or nil if no write was requested
	writing bool                // the writing goroutine is running
	failing bool                // the last write failed
	closed  bool
}

// batch is the set of lines of one write.
type batch struct {
	flush   bool
	written chan struct{} // closed after the attempt
	err     error         // valid after written is closed
}

// maxBytes is the limit of unwritten bytes. At this limit Record waits.
const maxBytes = 16 << 20

// New returns a new Log that writes to w, one or more whole lines at a time and never concurrently. If w has a Sync()
// error method, as *os.File does, a decision is only considered recorded once Sync has returned. However, Sync is not
// called for an *os.File other than a regular file, such as a pipe. Close does not close w.
func New(w io.Writer) *Log {
	l := &Log{w: w}
	l.encode = LogEvents(slog.New(slog.NewJSONHandler(&l.lines, nil)))
	if syncer, ok := w.(interface{ Sync() error }); ok && canSync(w) {
		l.sync = syncer.Sync
	}
	return l
}

// canSync reports whether a flush of w can succeed. For files, it succeeds only for regular ones.
func canSync(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return true
	}
	info, err := file.Stat()
	return err != nil || info.Mode().IsRegular()
}

// Open returns a Log that appends to the named file, which is created if necessary and closed by Close.
//
// The file must be accessible only to its owner. On Unix, Open sets an existing file's mode to 0600, and fails if the
// file belongs to another user or has more than one hard link. On Windows, the file's directory determines access. On
// all systems, Open fails if the file is not regular, or if it is inside one of the roots, with or without symbolic
// links resolved, because commands could truncate, replace or move it. Errors are of type *acpterm.Error and kind
// ErrInternal.
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
		for _, name := range []string{path, given} { // commands can change a link in a root
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

// realPath resolves the symbolic links of an absolute path. The file itself may be missing.
func realPath(path string) (string, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return filepath.EvalSymlinks(path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// isInside reports whether the file at path is below dir, by any name of dir.
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

// ownFile restricts access to the owner of the file, or fails.
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

// Record writes an event. If the event is an *acpterm.DecisionEvent that allows a command, Record returns once the line
// has been written and flushed. If that fails, or ctx is done first, it returns an error, but the line may still be
// written later. Other events are written in the background without a flush, so callers do not wait for the disk. While
// 16 MiB are unwritten, Record waits for the next write and returns its error. After Close, it returns os.ErrClosed.
func (l *Log) Record(ctx context.Context, event acpterm.Event) error {
	durable := false
	switch e := event.(type) {
	case *acpterm.StartEvent: // the line of the end includes the start
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

// await waits until the batch is written or ctx is done.
func (b *batch) await(ctx context.Context) error {
	select {
	case <-b.written:
		return b.err
	case <-ctx.Done():
	}
	select {
	case <-b.written: // prefer the result
		return b.err
	default:
		return fmt.Errorf("the audit is not written yet: %w", context.Cause(ctx))
	}
}

// add adds a line to the next batch, if there is room, and requests a write.
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

// requestLocked requests a write of all lines in one batch.
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

// writeBatches writes until no batch is requested. Lines that arrive during a write and flush form one batch: many
// creates share a flush.
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

// write returns the number of bytes written. Its errors do not name the file, since agents may see them. A panic of the
// writer becomes an error.
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

// Close writes and flushes any remaining lines, and closes the file if Open opened it. It returns an error if any of
// this fails. Close the managers that use the Log first. Subsequent calls return os.ErrClosed.
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
