package archive

// Reading the files.

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// A Terminal is an ended terminal in an Archive. Its output remains in the file until it is read.
//
// A Terminal is safe for concurrent use by multiple goroutines.
type Terminal struct {
	archive *Archive
	name    string // of the file
	record  record
}

// errCutOff is the error of a file whose end is missing.
var errCutOff = errors.New("the file is cut off")

// readTerminal reads the record of a file.
func readTerminal(a *Archive, name string) (*Terminal, error) {
	file, err := os.Open(filepath.Join(a.dir, name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	end := info.Size() - int64(trailerSize)
	if end < 0 {
		return nil, errCutOff
	}
	last := make([]byte, trailerSize)
	if _, err := file.ReadAt(last, end); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint64(last)
	if !bytes.HasSuffix(last, []byte(trailer)) || size > uint64(min(end, maxRecord)) {
		return nil, errCutOff
	}
	data := make([]byte, size)
	if _, err := file.ReadAt(data, end-int64(size)); err != nil {
		return nil, err
	}
	t := &Terminal{archive: a, name: name}
	return t, t.decode(data, end-int64(size))
}

// decode decodes the record of a file with a number of bytes of output.
func (t *Terminal) decode(data []byte, output int64) error {
	r := &t.record
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("not a record: %w", err)
	}
	switch {
	case r.Version != version:
		return fmt.Errorf("a record of version %d; only %d is known", r.Version, version)
	case r.name() != t.name:
		return errors.New("not the record of this file")
	case r.RawBytes < 0 || r.TextBytes < 0 || r.RawBytes > output || r.RawBytes+r.TextBytes != output,
		r.Base < 0 || r.Begin < r.Base || r.End < r.Begin || r.Kept < 0 || r.Written < r.Kept,
		r.HasPTY && (r.Size == nil || r.Size.Columns <= 0 || r.Size.Rows <= 0):
		return errors.New("not a whole record")
	}
	return nil
}

// Info describes the terminal as acpterm.Terminal.Info did when it ended, without the environment, Meta and Limits. Of
// the exit status, it has the Meta only if the command was ended because it was idle.
func (t *Terminal) Info() acpterm.TerminalInfo {
	r := &t.record
	return acpterm.TerminalInfo{
		ID: r.Terminal, SessionID: r.Session, PID: r.PID, State: acpterm.StateEnded, Attached: r.Attached,
		Command:    acpterm.Command{Path: r.Path, Args: r.Args, Dir: r.Dir, ShellLine: r.ShellLine},
		ExitStatus: r.Status, EndedBy: r.EndedBy, HasPTY: r.HasPTY, Size: r.Size,
		Created: r.Started, Started: r.Started, Ended: r.Ended, Written: r.Written, Kept: r.Kept,
	}
}

// Name returns the name of the terminal's file, which identifies the terminal in the archive.
func (t *Terminal) Name() string { return t.name }

// Manager returns the name of the terminal's manager, as passed to Keep.
func (t *Terminal) Manager() string { return t.record.Manager }

// SessionName returns the name of the session, or "" if it had none.
func (t *Terminal) SessionName() string { return t.record.SessionName }

// Earlier reports whether the terminal was recorded by another Archive, such as that of an earlier run of the program.
func (t *Terminal) Earlier() bool { return t.record.Run != t.archive.run }

// Failure returns the reason why the terminal has no exit status, or "".
func (t *Terminal) Failure() string { return t.record.Failure }

// Removed reports whether the archive has removed the terminal.
func (t *Terminal) Removed() bool {
	_, err := os.Stat(filepath.Join(t.archive.dir, t.name))
	return err != nil
}

// OutputTotal returns the offset of the end of the output, like acpterm.Terminal.OutputTotal.
func (t *Terminal) OutputTotal() int64 { return t.record.End }

// chunkSize is the maximum size of a chunk in bytes.
const chunkSize = 64 << 10

// Follow returns an iterator over the output from an offset on, like acpterm.Terminal.Follow. If the rest of the output
// cannot be read, the last Chunk reports it as missed, and Archive.Skipped has the reason.
func (t *Terminal) Follow(ctx context.Context, offset int64) iter.Seq[acpterm.Chunk] {
	return func(yield func(acpterm.Chunk) bool) {
		at := max(offset, 0)
		if at >= t.record.End {
			return
		}
		missed := max(0, t.record.Begin-max(at, t.record.Base))
		at = max(at, t.record.Begin)
		err := t.read(0, t.record.RawBytes, func(output io.Reader) error {
			if _, err := io.CopyN(io.Discard, output, at-t.record.Begin); err != nil {
				return err
			}
			return readChunks(output, at, func(c acpterm.Chunk) error {
				c.Missed, missed, at = missed, 0, c.End
				if ctx.Err() != nil || !yield(c) {
					return context.Canceled
				}
				return nil
			})
		})
		rest := t.record.End - at
		if errors.Is(err, context.Canceled) {
			return
		}
		if err == nil && rest > 0 {
			err = errCutOff
		}
		if err != nil && !t.Removed() {
			t.archive.skip(t.name, err)
		}
		if missed += max(rest, 0); missed > 0 {
			yield(acpterm.Chunk{Offset: t.record.End, End: t.record.End, Missed: missed})
		}
	}
}

// readChunks calls use with the chunks of output that begins at an offset.
func readChunks(output io.Reader, at int64, use func(acpterm.Chunk) error) error {
	buffer, filled := make([]byte, chunkSize), 0
	for {
		n, err := output.Read(buffer[filled:])
		filled += n
		size := filled
		switch {
		case err == nil && filled < chunkSize:
			continue
		case err == nil: // there may be more
			size -= unfinished(buffer)
		}
		if size > 0 {
			raw := string(buffer[:size])
			c := acpterm.Chunk{Offset: at, End: at + int64(size), Text: raw, Raw: raw}
			if !utf8.ValidString(raw) {
				c.Text = string([]rune(raw)) // each invalid byte becomes U+FFFD
			}
			at = c.End
			if err := use(c); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		filled = copy(buffer, buffer[size:])
	}
}

// unfinished returns the length of the unfinished character at the end of a text, or 0.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax; n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Text returns the output as text: on a PTY, without escape sequences, as acpterm.Terminal.Output does.
func (t *Terminal) Text() (string, error) {
	from, size := int64(0), t.record.RawBytes
	if t.record.HasPTY {
		from, size = size, t.record.TextBytes
	}
	var text []byte
	err := t.read(from, size, func(output io.Reader) (err error) {
		text, err = io.ReadAll(output)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("archive: %s: %w", t.name, err)
	}
	return string([]rune(string(text))), nil
}

// read calls use with a compressed part of the file.
func (t *Terminal) read(from, size int64, use func(io.Reader) error) error {
	file, err := os.Open(filepath.Join(t.archive.dir, t.name))
	if err != nil {
		return err
	}
	defer file.Close()
	output, err := gzip.NewReader(io.NewSectionReader(file, from, size))
	if err != nil {
		return err
	}
	return use(output)
}
