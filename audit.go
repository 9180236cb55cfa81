package acpterm

// The audit: decisions, ends and survivors as lines of JSON. A command runs once the line that allows it is on disk.

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
	"sync"
)

// Audit writes events as lines of JSON, one an event, as LogEvents does with slog.NewJSONHandler. Its method Record is
// for Options.Record. OpenAudit makes one of a file, NewAudit of anything else. Several managers may share one.
//
// Lines that could not be written are kept, up to 16 MiB, and written first when there is more to write: a disk that
// was full for a while leaves no gap and no half line. So a decision may be in the file whose Record failed; its
// command did not run, and its end says so. The first failure of several is logged. All methods may be called
// concurrently.
type Audit struct {
	w     io.Writer
	sync  func() error // flushes w to the disk; nil if that means nothing
	close func() error // nil: w is not the audit's to close

	mu      sync.Mutex
	lines   bytes.Buffer // lines that are not written; the first may be the rest of one
	encoder slog.Handler // writes to lines
	next    *auditBatch  // the batch that lines is part of; nil until a write is asked for
	writing bool         // the goroutine that writes is running
	failing bool         // the last write failed
	closed  bool
}

// auditBatch is what one write is for.
type auditBatch struct {
	flush   bool
	written chan struct{} // closed when it was tried
	err     error         // once written is closed
}

// maxAuditBytes is how many bytes wait to be written before Record waits.
const maxAuditBytes = 16 << 20

// NewAudit returns an audit that writes to w, whole lines in each call of Write, one call at a time. If w has a method
// Sync() error, as an *os.File has, a decision is on record when that has returned; of an *os.File that is no regular
// file, such as a pipe, when it is written. Close does not close w.
func NewAudit(w io.Writer) *Audit {
	a := &Audit{w: w}
	a.encoder = slog.NewJSONHandler(&a.lines, nil)
	if syncer, ok := w.(interface{ Sync() error }); ok && canSync(w) {
		a.sync = syncer.Sync
	}
	return a
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

// OpenAudit returns an audit that appends to a file, which is made if it is missing. Close closes the file.
//
// The file is for its owner alone. On Unix, one that exists gets the mode 0600; it is refused if it belongs to another
// user or has a second hard link. On Windows it has the rights of its directory. It is refused everywhere if it is not
// a regular file, or if it is in one of the roots, links followed: what commands may write to, they may truncate,
// replace or move. Errors are *Error of the kind ErrInternal.
func OpenAudit(path string, roots ...string) (*Audit, error) {
	file, err := openAuditFile(path, roots)
	if err != nil {
		return nil, &Error{Op: "open audit", Kind: ErrInternal, Reason: "the audit file cannot be used", Err: err}
	}
	a := NewAudit(file)
	a.close = file.Close
	return a, nil
}

func openAuditFile(path string, roots []string) (*os.File, error) {
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
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|openAuditFlags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := ownAuditFile(file, path); err != nil {
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

// ownAuditFile makes the file its owner's alone, or fails.
func ownAuditFile(file *os.File, path string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return keepFromOthers(file, info)
}

// Record writes an event. Of a *DecisionEvent that allows a command it returns when the line is written and flushed,
// with the error if that failed, or with ctx's when ctx ended first; then the line may be written later. Other events
// it leaves to a goroutine, which does not flush: their callers do not wait for the disk. While 16 MiB wait to be
// written, it waits for that, and fails if it fails. After Close it fails with os.ErrClosed.
func (a *Audit) Record(ctx context.Context, event Event) error {
	r, ok := eventRecord(event)
	if !ok {
		return nil
	}
	d, ok := event.(*DecisionEvent)
	durable := ok && d.Verdict != Deny
	for {
		batch, added, err := a.add(r, durable)
		if err != nil || added && !durable {
			return err
		}
		if err := batch.await(ctx); err != nil || added {
			return err
		}
	}
}

// await returns when the batch is written, or when ctx ends first.
func (b *auditBatch) await(ctx context.Context) error {
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
func (a *Audit) add(r slog.Record, flush bool) (batch *auditBatch, added bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, false, os.ErrClosed
	}
	if added = a.lines.Len() < maxAuditBytes; added {
		if err := a.encoder.Handle(context.Background(), r); err != nil {
			return nil, false, err
		}
	}
	return a.requestLocked(flush), added, nil
}

// requestLocked has all lines written, in a batch.
func (a *Audit) requestLocked(flush bool) *auditBatch {
	if a.next == nil {
		a.next = &auditBatch{written: make(chan struct{})}
	}
	a.next.flush = a.next.flush || flush
	if !a.writing {
		a.writing = true
		go a.writeBatches()
	}
	return a.next
}

// writeBatches writes until no batch is asked for. What comes during a write and a flush is one batch: many creates
// share a flush.
func (a *Audit) writeBatches() {
	for {
		a.mu.Lock()
		batch, data := a.next, a.lines.Bytes()
		if batch == nil {
			a.writing = false
			a.mu.Unlock()
			return
		}
		a.next, a.lines = nil, bytes.Buffer{}
		a.mu.Unlock()

		n, err := a.write(data, batch.flush)
		a.mu.Lock()
		if rest := data[n:]; len(rest) > 0 {
			a.lines = *bytes.NewBuffer(append(rest, a.lines.Bytes()...))
		}
		first := err != nil && !a.failing
		a.failing = err != nil
		a.mu.Unlock()
		if first {
			slog.Error("acpterm: the audit cannot be written", "error", err)
		}
		batch.err = err
		close(batch.written)
	}
}

// write returns how much was written. Its errors do not name the file: agents may see them.
func (a *Audit) write(data []byte, flush bool) (n int, err error) {
	panicked := callHook("audit's Writer", func() {
		if len(data) > 0 {
			n, err = a.w.Write(data)
		}
		if err == nil && n < len(data) {
			err = io.ErrShortWrite
		}
		if err == nil && flush && a.sync != nil {
			err = a.sync()
		}
	})
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", failure.Op, failure.Err)
	}
	return min(max(n, 0), len(data)), errors.Join(panicked, err)
}

// Close returns when all lines are written and flushed, or fails with the error if they cannot be, and closes the file
// that OpenAudit opened. Call it when the managers that use it are closed. A second call fails with os.ErrClosed.
func (a *Audit) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return os.ErrClosed
	}
	a.closed = true
	batch := a.requestLocked(true)
	a.mu.Unlock()
	<-batch.written
	err := batch.err
	if a.close != nil {
		err = errors.Join(err, a.close())
	}
	return err
}
