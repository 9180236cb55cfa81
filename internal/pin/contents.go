package pin

// The contents of programs, and of the interpreters of scripts.

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

// MaxVerifiedSize is the size in bytes up to which the contents of a file are compared.
const MaxVerifiedSize = 256 << 20

// maxReads is how many programs a Verifier reads at a time: each read may occupy a thread.
const maxReads = 4

// maxInterpreters is how many interpreters Linux follows, each of the one before.
const maxInterpreters = 5

// Contents are a program's files as a Verifier read them: its own, and of a script also its interpreters'. Nil Contents
// are of no file.
type Contents []contents

type contents struct {
	name   string // what is looked up
	file   File   // what it led to, without links
	digest []byte // SHA-256; nil: not compared
}

// Verifier reads the contents of programs, and compares them later. A change through a memory mapping that was made
// before shows neither in a file's size nor in its times, so contents are compared and not times alone. NewVerifier
// makes one. Its methods are safe for concurrent use.
type Verifier struct {
	reads chan struct{} // has one element for each read that is under way
}

// NewVerifier returns a Verifier.
func NewVerifier() *Verifier { return &Verifier{make(chan struct{}, maxReads)} }

// Read reads a program, and the interpreters of a script that is started in dir. unverified are the files whose
// contents will not be compared: they are larger than MaxVerifiedSize or cannot be read. It returns the context's
// cause when ctx is done.
func (v *Verifier) Read(ctx context.Context, program, dir string) (all Contents, unverified []string, err error) {
	defer v.begin(ctx)()
	for name := program; name != "" && len(all) <= maxInterpreters; {
		c, head, err := readContents(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, c)
		if c.file.info != nil && c.digest == nil && !onlyRootWrites(c.file.info) {
			unverified = append(unverified, c.file.path)
		}
		if name = interpreter(head); name != "" && !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
	}
	return all, unverified, nil
}

// Unchanged reports whether the files are those that were read, with the same contents. It returns the context's
// cause when ctx is done.
func (v *Verifier) Unchanged(ctx context.Context, all Contents) (bool, error) {
	if all == nil {
		return true, nil
	}
	defer v.begin(ctx)()
	for _, was := range all {
		is, _, err := readContents(ctx, was.name)
		if err != nil {
			return false, err
		}
		if is.file.path != was.file.path || !sameFile(is.file.info, was.file.info) ||
			!bytes.Equal(is.digest, was.digest) {
			return false, nil
		}
	}
	return true, nil
}

// begin waits until fewer than maxReads are under way, or ctx is done. end ends this one.
func (v *Verifier) begin(ctx context.Context) (end func()) {
	select {
	case v.reads <- struct{}{}:
		return func() { <-v.reads }
	case <-ctx.Done():
		return func() {}
	}
}

// readContents reads one file. head is its beginning, of the same bytes as the digest where there is one.
func readContents(ctx context.Context, name string) (c contents, head []byte, err error) {
	c.name = name
	if ctx.Err() != nil {
		return c, nil, context.Cause(ctx)
	}
	if c.file.path, err = filepath.EvalSymlinks(name); err != nil {
		return c, nil, nil
	}
	// O_NONBLOCK: the open of a FIFO does not wait for its other end.
	file, err := os.OpenFile(c.file.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.file.info, _ = os.Stat(c.file.path)
		return c, nil, nil
	}
	defer file.Close()
	if c.file.info, err = file.Stat(); err != nil || !c.file.info.Mode().IsRegular() {
		return c, nil, nil
	}
	head = make([]byte, 256) // Linux reads no more of a script's first line either
	n, err := io.ReadFull(file, head)
	head = head[:n]
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) ||
		c.file.info.Size() > MaxVerifiedSize || onlyRootWrites(c.file.info) {
		return c, head, nil
	}
	hash := sha256.New()
	hash.Write(head)
	if _, err := io.Copy(hash, io.LimitReader(untilDone{ctx, file}, MaxVerifiedSize)); err != nil {
		if ctx.Err() != nil {
			return c, nil, context.Cause(ctx)
		}
		return c, head, nil
	}
	c.digest = hash.Sum(nil)
	return c, head, nil
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
