package acpterm

// The journal: a directory with a file for each command that may run, so that another process can find what a
// host left running that died (recover.go).
//
// A file is written before its command starts, so there is no moment in which something runs and is not recorded. It
// is written under a temporary name and renamed, so whoever reads sees all of it or nothing, whenever the host dies.
// The command's process is added at the file's end when it is known; to write the file again would take milliseconds,
// since file systems flush what replaces another file. Nothing else is flushed to the disk: a crash of the machine ends
// what runs, and leaves nothing to look for.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// journal is the directory. The empty one is none: nothing is written.
type journal string

// record is what a file says. There is nothing of the environment in it.
type record struct {
	Version  int             `json:"version"`
	Terminal TerminalID      `json:"terminal"`
	Session  SessionID       `json:"session"`
	Command  recordedCommand `json:"command"`
	Leader   recordedProcess `json:"-"` // zero if the host died before it added it
	Host     recordedProcess `json:"host"`
	Boot     string          `json:"boot"` // what bootID says
	Cgroup   string          `json:"cgroup,omitempty"`
	Created  time.Time       `json:"created"`
}

// recordVersion is for a future in which records say something else.
const recordVersion = 1

// recordedCommand is Command without its environment.
type recordedCommand struct {
	Path      string   `json:"path"`
	Args      []string `json:"args"`
	Dir       string   `json:"dir"`
	ShellLine string   `json:"shellLine,omitempty"`
}

// recordedProcess is a process's number, and what tells it from others that had or will have the number. Each
// system's file (recover_linux.go, _windows.go, _other.go) says what that is, in newRecordedProcess and lives.
type recordedProcess struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
}

const (
	recordSuffix    = ".json"
	temporarySuffix = ".tmp"
)

// record writes down that a terminal's command is about to start. Its error is of the kind ErrInternal.
func (j journal) record(t *Terminal, c Command) error {
	if j == "" {
		return nil
	}
	return journalError("create", t, j.write(t, c))
}

// recordStart adds which process the command is. Its error is of the kind ErrInternal.
func (j journal) recordStart(t *Terminal, pid int) error {
	if j == "" {
		return nil
	}
	return journalError("create", t, j.add(t, pid))
}

// forget removes a terminal's record, if there is one. Its error is of the kind ErrInternal.
func (j journal) forget(t *Terminal) error {
	if j == "" {
		return nil
	}
	return journalError("release", t, j.remove(recordName(t.id)))
}

func journalError(op string, t *Terminal, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Kind: ErrInternal, SessionID: t.session, TerminalID: t.id,
		Reason: "the journal cannot be written", Err: err}
}

func (j journal) write(t *Terminal, c Command) error {
	r := record{
		Version:  recordVersion,
		Terminal: t.id,
		Session:  t.session,
		Command:  recordedCommand{c.Path, c.Args, c.Dir, c.ShellLine},
		Created:  t.created,
	}
	if t.cgroup != "" {
		r.Cgroup = filepath.Join(t.cgroup, string(t.id))
	}
	var err error
	if r.Boot, err = bootID(); err != nil {
		return err
	}
	if r.Host, err = newRecordedProcess(os.Getpid()); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(j), 0o700); err != nil {
		return err
	}
	data = append(data, '\n')
	temporary := j.path(temporaryName(r.Terminal, r.Host))
	err = os.WriteFile(temporary, data, 0o600)
	if err == nil {
		err = os.Rename(temporary, j.path(recordName(r.Terminal)))
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

func (j journal) add(t *Terminal, pid int) error {
	leader, err := newRecordedProcess(pid)
	if err != nil {
		return err
	}
	data, err := json.Marshal(leader)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(j.path(recordName(t.id)), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

func (j journal) path(name string) string { return filepath.Join(string(j), name) }

// remove is no error when somebody else did it.
func (j journal) remove(name string) error {
	if err := os.Remove(j.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// read reads the records, the oldest first, and returns those whose hosts live no more. Its errors, one for each
// file that is none of the journal's or cannot be read, name the files, which stay.
func (j journal) read(boot string) (abandoned []record, errs []error) {
	entries, err := os.ReadDir(string(j)) // by name, which is by time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, entry := range entries {
		r, err := j.readEntry(entry)
		switch {
		case errors.Is(err, fs.ErrNotExist): // forgotten meanwhile, by its host or by another Recover
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", entry.Name(), err))
		case r != nil && !(r.Boot == boot && r.Host.lives()):
			abandoned = append(abandoned, *r)
		}
	}
	return abandoned, errs
}

// readEntry reads a record; nil for a temporary file. Such a file of a host that lives is being written; that of
// another is of a command that did not start, and is removed.
func (j journal) readEntry(entry fs.DirEntry) (*record, error) {
	if !entry.Type().IsRegular() {
		return nil, errors.New("not a file")
	}
	if host, ok := temporaryHost(entry.Name()); ok {
		if host.lives() {
			return nil, nil
		}
		return nil, j.remove(entry.Name())
	}
	id, ok := recordedTerminal(entry.Name())
	if !ok {
		return nil, errors.New("not the name of a record")
	}
	data, err := os.ReadFile(j.path(entry.Name()))
	if err != nil {
		return nil, err
	}
	return decodeRecord(id, data)
}

// decodeRecord returns the record of a terminal.
func decodeRecord(id TerminalID, data []byte) (*record, error) {
	var r record
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	err := d.Decode(&r.Leader)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF): // the host died while it added it
		r.Leader = recordedProcess{}
	case err == nil && d.More():
		return nil, errors.New("not a record: there is more")
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("not a record: %w", err)
	}
	switch {
	case r.Terminal != id:
		return nil, errors.New("not a record of this terminal")
	case r.Version != recordVersion:
		return nil, fmt.Errorf("a record of version %d; only %d is known", r.Version, recordVersion)
	case r.Session == "", len(r.Command.Args) == 0, r.Leader.PID < 0, r.Host.PID <= 0:
		return nil, errors.New("not a whole record")
	}
	return &r, nil
}

func recordName(id TerminalID) string { return string(id) + recordSuffix }

// recordedTerminal is the terminal that a file's name says it records.
func recordedTerminal(name string) (TerminalID, bool) {
	id, found := strings.CutSuffix(name, recordSuffix)
	text, prefixed := strings.CutPrefix(id, idPrefix)
	parsed, err := ulid.ParseStrict(text)
	return TerminalID(id), found && prefixed && err == nil && parsed.String() == text
}

// temporaryName tells who is writing, so that it can be known when nobody is any more.
func temporaryName(id TerminalID, host recordedProcess) string {
	return fmt.Sprintf("%s.%d.%d%s", recordName(id), host.PID, host.Started, temporarySuffix)
}

// temporaryHost is who writes a temporary file; false if the name is none of those that temporaryName makes.
func temporaryHost(name string) (host recordedProcess, ok bool) {
	record, numbers, found := strings.Cut(name, recordSuffix+".")
	id, named := recordedTerminal(record + recordSuffix)
	_, err := fmt.Sscanf(numbers, "%d.%d", &host.PID, &host.Started)
	return host, found && named && err == nil && host.PID > 0 && temporaryName(id, host) == name
}
