package archive

// The files. Each has the output, compressed, then a record as JSON, and then a fixed number of bytes with the size of
// the record. They are missing if it is cut off. A file is written under a temporary name, and appears as a whole.

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// record describes an ended terminal. It does not contain the environment.
type record struct {
	Version     int                         `json:"version"`
	Run         string                      `json:"run"`
	Manager     string                      `json:"manager,omitempty"`
	Session     acpterm.SessionID           `json:"session"`
	SessionName string                      `json:"sessionName,omitempty"`
	Terminal    acpterm.TerminalID          `json:"terminal"`
	Path        string                      `json:"path,omitempty"`
	Args        []string                    `json:"args,omitempty"`
	Dir         string                      `json:"dir,omitempty"`
	ShellLine   string                      `json:"shellLine,omitempty"`
	PID         int                         `json:"pid,omitempty"`
	Attached    bool                        `json:"attached,omitempty"`
	HasPTY      bool                        `json:"hasPTY,omitempty"`
	Size        *acpterm.TerminalSize       `json:"size,omitempty"`
	Started     time.Time                   `json:"started"`
	Ended       time.Time                   `json:"ended"`
	EndedBy     acpterm.EndedBy             `json:"endedBy"`
	Status      *acpterm.TerminalExitStatus `json:"status,omitempty"`
	Failure     string                      `json:"failure,omitempty"` // why the status is unknown
	Written     int64                       `json:"written"`
	Kept        int64                       `json:"kept"`
	Base        int64                       `json:"base"`  // offset of the output without replaced parts
	Begin       int64                       `json:"begin"` // offset of the output in the file
	End         int64                       `json:"end"`
	RawBytes    int64                       `json:"rawBytes"`  // compressed size of the output
	TextBytes   int64                       `json:"textBytes"` // compressed size of the text of a PTY, which follows
}

const (
	version         = 1
	suffix          = ".acpterm"
	temporaryPrefix = "new-"
	trailer         = "acpterm\n" // the last bytes of a file, after the size of the record
	trailerSize     = 8 + len(trailer)

	maxText    = 4 << 10  // bytes of a name
	maxCommand = 64 << 10 // bytes of the command line
	maxRecord  = 1 << 20  // bytes of a record
)

// lastWait is how long a write waits for the rest of a character at the end of the output.
const lastWait = 100 * time.Millisecond

var (
	errNotEnded = errors.New("the terminal has not ended")
	errReplaced = errors.New("the output is being replaced")
)

// newRecord describes a terminal, except for its output.
func newRecord(ctx context.Context, t *acpterm.Terminal) (record, error) {
	info := t.Info()
	if info.Ended.IsZero() {
		return record{}, errNotEnded
	}
	r := record{
		Version: version, Session: info.SessionID, Terminal: info.ID,
		Path: cut(info.Command.Path, maxText), Args: cutAll(info.Command.Args), Dir: cut(info.Command.Dir, maxText),
		ShellLine: cut(info.Command.ShellLine, maxCommand), PID: info.PID, Attached: info.Attached,
		HasPTY: info.HasPTY, Size: info.Size, Started: info.Started, Ended: info.Ended, EndedBy: info.EndedBy,
	}
	if status, err := t.Wait(ctx); err != nil {
		r.Failure = cut(err.Error(), maxText)
	} else {
		r.Status = &acpterm.TerminalExitStatus{ExitCode: status.ExitCode, Signal: status.Signal}
		if info.EndedBy == acpterm.EndedByIdle {
			r.Status.Meta = status.Meta // for how long
		}
	}
	return r, nil
}

// cutAll cuts arguments too long for a reader.
func cutAll(args []string) (cutArgs []string) {
	room := maxCommand
	for i, arg := range args {
		if room <= 0 || i == maxText {
			return append(cutArgs, fmt.Sprintf("… and %d arguments more", len(args)-i))
		}
		arg = cut(arg, room)
		room -= len(arg)
		cutArgs = append(cutArgs, arg)
	}
	return cutArgs
}

// cut cuts a text after whole characters. Other bytes become U+FFFD, as in JSON.
func cut(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// name returns the name of the file: files sort by the end of their terminals.
func (r *record) name() string {
	of := fmt.Sprintf("%q %q %q %q %d", r.Run, r.Manager, r.Session, r.Terminal, r.Started.UnixNano())
	id := sha256.Sum256([]byte(of))
	return fmt.Sprintf("%019d-%s%s", max(0, r.Ended.UnixNano()), hex.EncodeToString(id[:10]), suffix)
}

// endOf returns the end of the terminal from a file's name. It reports false for any other name.
func endOf(name string) (ended time.Time, ok bool) {
	var nanoseconds int64
	var id string
	rest, found := strings.CutSuffix(name, suffix)
	if _, err := fmt.Sscanf(rest, "%19d-%20s", &nanoseconds, &id); err != nil || !found || len(rest) != 40 {
		return time.Time{}, false
	}
	return time.Unix(0, nanoseconds), true
}

// write writes the output so far, and then the record.
func (r *record) write(file *os.File, t *acpterm.Terminal) error {
	err := r.writeOutput(file, t)
	for range 3 { // the owner of an attached terminal may replace the output meanwhile
		if !errors.Is(err, errReplaced) {
			break
		}
		if _, err = file.Seek(0, io.SeekStart); err == nil {
			err = file.Truncate(0)
		}
		if err == nil {
			err = r.writeOutput(file, t)
		}
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	data = binary.BigEndian.AppendUint64(data, uint64(len(data)))
	_, err = file.Write(append(data, trailer...))
	return err
}

// writeOutput writes the output and, on a PTY, its text.
func (r *record) writeOutput(file *os.File, t *acpterm.Terminal) (err error) {
	r.Base, r.Begin, r.End = 0, 0, 0
	begun := false
	r.RawBytes, err = compress(file, func(w io.Writer) error {
		return outputSoFar(t, func(c acpterm.Chunk) error {
			if begun && (c.Replaced || c.Missed > 0) {
				return errReplaced
			}
			if !begun {
				begun, r.Begin = true, c.Offset
				if c.Replaced {
					r.Base = c.Offset - c.Missed
				}
			}
			r.End = c.End
			_, err := io.WriteString(w, c.Raw)
			return err
		})
	})
	r.Written, r.Kept = r.End-r.Base, r.End-r.Begin
	if err == nil && r.HasPTY {
		r.TextBytes, err = compress(file, func(w io.Writer) error {
			_, err := io.WriteString(w, t.Output().Output)
			return err
		})
	}
	return err
}

// compress writes what write writes, compressed, and returns its size.
func compress(to io.Writer, write func(io.Writer) error) (size int64, err error) {
	counter := &counter{Writer: to}
	zipped, err := gzip.NewWriterLevel(counter, gzip.BestSpeed)
	if err == nil {
		err = write(zipped)
	}
	if err == nil {
		err = zipped.Close()
	}
	return counter.n, err
}

type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// outputSoFar calls add with the chunks of the output that exist now. Background processes may still write. If the last
// character is unfinished, the rest of it is not waited for long.
func outputSoFar(t *acpterm.Terminal, add func(acpterm.Chunk) error) error {
	total, at := t.OutputTotal(), int64(0)
	for at < total {
		before, err := at, error(nil)
		ctx, cancel := context.Background(), func() {}
		if total-at < utf8.UTFMax {
			ctx, cancel = context.WithTimeout(ctx, lastWait)
		}
		for chunk := range t.Follow(ctx, at) {
			at = chunk.End
			if err = add(chunk); err != nil || total-at < utf8.UTFMax {
				break
			}
		}
		cancel()
		if err != nil || at == before {
			return err
		}
	}
	return nil
}
