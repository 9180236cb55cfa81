package pin

// The contents of programs and of the interpreters of scripts.

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

// MaxVerifiedSize is the maximum size, in bytes, of a file with compared contents.
const MaxVerifiedSize = 256 << 20

// maxReads is the maximum number of concurrent reads of a Verifier. Each read may occupy a thread.
const maxReads = 4

// maxInterpreters is the maximum length of a chain of interpreters on Linux.
const maxInterpreters = 5

// Contents are the files of a program as read by a Verifier: the program itself and, for a script, its interpreters.
// Nil Contents do not have any files.
type Contents []contents

type contents struct {
	name   string // the path to look up
	file   File   // the file at that path, with links resolved
	digest []byte // SHA-256; if nil, the contents are not compared
}

// A Verifier reads the contents of programs and compares them later. Sizes and times alone do not suffice, because a
// change through an existing memory mapping affects neither. NewVerifier makes one, which is safe for concurrent use.
type Verifier struct {
	reads chan struct{} // has one element for each read in progress
}

// NewVerifier returns a Verifier.
func NewVerifier() *Verifier { return &Verifier{make(chan struct{}, maxReads)} }

// Read reads a program and, if it is a script, its interpreters; dir is the script's working directory. unverified
// lists the files whose contents will not be compared, because they are larger than MaxVerifiedSize or not readable.
// Read returns the context's cause if ctx is done.
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

// Unchanged reports whether the files and their contents are the same. It returns the context's cause if ctx is done.
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

// begin waits until fewer than maxReads reads are in progress, or ctx is done. The caller calls end after its read.
func (v *Verifier) begin(ctx context.Context) (end func()) {
	select {
	case v.reads <- struct{}{}:
		return func() { <-v.reads }
	case <-ctx.Done():
		return func() {}
	}
}

// readContents reads one file. head is its beginning, from the same read as the digest, if it has one.
func readContents(ctx context.Context, name string) (c contents, head []byte, err error) {
	c.name = name
	if ctx.Err() != nil {
		return c, nil, context.Cause(ctx)
	}
	if c.file.path, err = filepath.EvalSymlinks(name); err != nil {
		return c, nil, nil
	}
	// With O_NONBLOCK, opening a FIFO does not wait for a writer.
	file, err := os.OpenFile(c.file.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.file.info, _ = os.Stat(c.file.path)
		return c, nil, nil
	}
	defer file.Close()
	if c.file.info, err = file.Stat(); err != nil || !c.file.info.Mode().IsRegular() {
		return c, nil, nil
	}
	head = make([]byte, 256) // Linux also reads only this much of a script's first line
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

// interpreter returns the program named by a script's first line, or "" if the file is not a script.
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

// untilDone is a Reader that fails once ctx is done.
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
