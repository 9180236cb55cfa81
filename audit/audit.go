// Package audit logs which commands were allowed or denied, how they ended, and which processes survived, as lines of
// JSON. A command is not run until the line that allows it has been written to disk:
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

// A Log writes events as lines of JSON, in the format used by LogEvents with a slog.JSONHandler. To use a Log, set
// acpterm.Options.Record to its Record method. Use Open to create a Log that writes to a file, or New for any other
// writer. A Log may be shared by several managers.
//
// If a line cannot be written, it is kept in memory and written before any later ones. Up to 16 MiB of lines are kept,
// so a temporarily full disk does not cause gaps or partial lines. As a result, the file may contain a decision for
// which Record returned an error. In that case, the command was not run, which can be seen from the line that records
// its end. If several writes fail in a row, only the first failure is reported, using slog. A Log is safe for
// concurrent use by multiple goroutines.
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

// New returns a new Log that writes to w. Each write consists of one or more whole lines, and writes are never
// concurrent. If w has a Sync() error method, as *os.File does, a decision is not considered recorded until Sync has
// returned. However, if w is an *os.File that does not refer to a regular file, such as a pipe, Sync is not called.
// Note that closing the Log does not close w.
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

// Open returns a Log that appends to the named file. The file is created if it does not exist, and is closed by Close.
//
// The file must be accessible only to its owner. On Unix, if the file already exists, Open sets its mode to 0600, and
// returns an error if the file belongs to another user or has more than one hard link. On Windows, access is determined
// by the directory that contains the file. On all systems, Open returns an error if the file is not a regular file. It
// also returns an error if the path is inside one of the roots, either before or after symbolic links are resolved,
// because commands could otherwise truncate, replace or move the file. Any error is an *acpterm.Error of kind
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

// Record writes an event. If the event is an *acpterm.DecisionEvent that allows a command, Record does not return until
// the line has been written and flushed. If this fails, or if ctx is done before the line has been flushed, Record
// returns an error. In that case, the line may still be written later. All other events are written in the background
// and are not flushed, so callers do not have to wait for the disk. However, if 16 MiB of data are waiting to be
// written, Record waits for the next write and returns its error, if any. After Close has been called, Record returns
// os.ErrClosed.
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

// Close writes and flushes any remaining lines and, if the file was opened by Open, closes it. If any of these steps
// fails, Close returns an error. All managers that use the Log should be closed before Close is called. Subsequent
// calls return os.ErrClosed.
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
