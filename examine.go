package acpterm

// What a program consists of when a person is asked about it: its file, and of a script the interpreter's too. A change
// through a mapping that was made before shows neither in a file's size nor in its times, so contents are compared.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// MaxVerifiedSize is the size in bytes up to which the contents of a program's file are compared. See
// Question.Unverified.
const MaxVerifiedSize = 256 << 20

// maxExaminations is how many programs of a manager are read at a time: each read may occupy a thread.
const maxExaminations = 4

// maxInterpreters is how many interpreters Linux follows, each of the one before.
const maxInterpreters = 5

// examinedFile is a file as it was when the person was asked.
type examinedFile struct {
	name   string      // what is looked up
	path   string      // what it led to, without links
	info   os.FileInfo // nil: nothing was there
	digest []byte      // SHA-256 of the contents; nil: they are not compared
}

// examination is a program's files. A nil one is of nothing.
type examination []examinedFile

// examine reads a program, and the interpreters of a script that is started in dir. unverified are the files whose
// contents could not be taken. It fails when ctx ends.
func (m *Manager) examine(ctx context.Context, program, dir string) (e examination, unverified []string, err error) {
	defer m.beginExamination(ctx)()
	for name := program; name != "" && len(e) <= maxInterpreters; {
		f, head, err := examineFile(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		e = append(e, f)
		if f.info != nil && f.digest == nil && !onlyRootWrites(f.info) {
			unverified = append(unverified, f.path)
		}
		if name = interpreter(head); name != "" && !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
	}
	return e, unverified, nil
}

// unchanged reports whether the files are those that were examined, and have the same contents. It fails when ctx ends.
func (m *Manager) unchanged(ctx context.Context, e examination) (bool, error) {
	if e == nil {
		return true, nil
	}
	defer m.beginExamination(ctx)()
	for _, was := range e {
		is, _, err := examineFile(ctx, was.name)
		if err != nil {
			return false, err
		}
		if is.path != was.path || !sameFile(is.info, was.info) || !bytes.Equal(is.digest, was.digest) {
			return false, nil
		}
	}
	return true, nil
}

// beginExamination waits until fewer than maxExaminations are under way, or ctx ends. What it returns ends this one.
func (m *Manager) beginExamination(ctx context.Context) (end func()) {
	select {
	case m.examinations <- struct{}{}:
		return func() { <-m.examinations }
	case <-ctx.Done():
		return func() {}
	}
}

// examineFile looks at one file. head is what it begins with, of those bytes that the digest is of where there is one.
func examineFile(ctx context.Context, name string) (f examinedFile, head []byte, err error) {
	f.name = name
	if ctx.Err() != nil {
		return f, nil, &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	if f.path, err = filepath.EvalSymlinks(name); err != nil {
		return f, nil, nil
	}
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // which does not wait for a FIFO's other end
	if err != nil {
		f.info, _ = os.Stat(f.path)
		return f, nil, nil
	}
	defer file.Close()
	if f.info, err = file.Stat(); err != nil || !f.info.Mode().IsRegular() {
		return f, nil, nil
	}
	// The system reads no more of a first line either.
	head = make([]byte, 256)
	n, err := io.ReadFull(file, head)
	head = head[:n]
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) ||
		f.info.Size() > MaxVerifiedSize || onlyRootWrites(f.info) {
		return f, head, nil
	}
	hash := sha256.New()
	hash.Write(head)
	if _, err := io.Copy(hash, io.LimitReader(untilDone{ctx, file}, MaxVerifiedSize)); err != nil {
		if ctx.Err() != nil {
			err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
			return f, nil, err
		}
		return f, head, nil
	}
	f.digest = hash.Sum(nil)
	return f, head, nil
}

// interpreter is the program that a script's first line names; empty if it is no script.
func interpreter(head []byte) string {
	line, isScript := bytes.CutPrefix(head, []byte("#!"))
	if !isScript {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	line = bytes.Trim(line, " \t")
	if end := bytes.IndexAny(line, " \t\x00"); end >= 0 {
		line = line[:end]
	}
	return string(line)
}

// sameFile reports whether two looks at a file have seen the same one, not written to in between, or no file. Nil is no
// file.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && (a.IsDir() ||
		a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changeTime(a) == changeTime(b))
}

// untilDone fails once a context has ended.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
