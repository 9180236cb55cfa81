// Package journal is a directory with a file for each command that may run, so that another process can find what a
// host that died has left running. It imports the standard library, x/sys, ulid and internal/procfs.
//
// A file is written before its command starts, so that nothing runs without a record. It is written under a temporary
// name and renamed, so that a reader sees all of it or nothing, whenever the host dies. The command's process is added
// at the file's end when it is known; to write the file again would take milliseconds, since file systems flush what
// replaces another file. Nothing else is flushed to the disk: a crash of the machine ends what runs.
package journal

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

// Dir is the directory. The empty one is none: nothing is written. Its methods may be called concurrently, in several
// processes too.
type Dir string

// Record is what a file says. There is nothing of the environment in it.
type Record struct {
	Version  int       `json:"version"`
	Terminal string    `json:"terminal"`
	Session  string    `json:"session"`
	Command  Command   `json:"command"`
	Leader   Process   `json:"-"` // zero if the host died before it added it
	Host     Process   `json:"host"`
	Boot     string    `json:"boot"` // what Boot says
	Cgroup   string    `json:"cgroup,omitempty"`
	Created  time.Time `json:"created"`
}

// version is for a future in which records say something else.
const version = 1

// Command is a command without its environment.
type Command struct {
	Path      string   `json:"path"`
	Args      []string `json:"args"`
	Dir       string   `json:"dir"`
	ShellLine string   `json:"shellLine,omitempty"`
}

// Process is a process's number, and what tells it from others that had or will have the number. Each system's file
// says what that is, in newProcess and runs.
type Process struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
}

const (
	recordSuffix    = ".json"
	temporarySuffix = ".tmp"
)

// Write writes a record, before its command starts. It sets Version, Boot and Host.
func (d Dir) Write(r Record) (err error) {
	if d == "" {
		return nil
	}
	r.Version = version
	if r.Boot, err = Boot(); err != nil {
		return err
	}
	if r.Host, err = newProcess(os.Getpid()); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	data = append(data, '\n')
	temporary := d.path(temporaryName(r.Terminal, r.Host))
	err = os.WriteFile(temporary, data, 0o600)
	if err == nil {
		err = os.Rename(temporary, d.path(recordName(r.Terminal)))
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

// AddLeader adds to a terminal's record which process the command is: the one with the number pid, if it is still the
// command's when the process has been read, which unreaped reports. A process that the host has reaped is not recorded,
// since its number may be another's.
func (d Dir) AddLeader(terminal string, pid int, unreaped func() bool) error {
	if d == "" {
		return nil
	}
	leader, err := newProcess(pid)
	if errors.Is(err, fs.ErrNotExist) || !unreaped() {
		return nil
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(leader)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(d.path(recordName(terminal)), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Remove removes a terminal's record, if there is one.
func (d Dir) Remove(terminal string) error {
	if d == "" {
		return nil
	}
	return d.remove(recordName(terminal))
}

// remove is no error when another process did it.
func (d Dir) remove(name string) error {
	if err := os.Remove(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Abandoned reads the records, the oldest first, and returns those whose hosts run no more. boot is what Boot says. Its
// errors, one for each file that is none of the journal's or cannot be read, name the files, which stay.
func (d Dir) Abandoned(boot string) (records []Record, errs []error) {
	entries, err := os.ReadDir(string(d)) // by name, which is by time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, entry := range entries {
		r, err := d.readEntry(entry)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed since, by its host or by another reader
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", entry.Name(), err))
		case r != nil && !(r.Boot == boot && r.Host.runs()):
			records = append(records, *r)
		}
	}
	return records, errs
}

// readEntry reads a record; nil for a temporary file. Such a file of a host that runs is being written; that of
// another is of a command that did not start, and is removed.
func (d Dir) readEntry(entry fs.DirEntry) (*Record, error) {
	if !entry.Type().IsRegular() {
		return nil, errors.New("not a file")
	}
	if host, ok := temporaryHost(entry.Name()); ok {
		if host.runs() {
			return nil, nil
		}
		return nil, d.remove(entry.Name())
	}
	id, ok := recordedTerminal(entry.Name())
	if !ok {
		return nil, errors.New("not the name of a record")
	}
	data, err := os.ReadFile(d.path(entry.Name()))
	if err != nil {
		return nil, err
	}
	return decodeRecord(id, data)
}

// decodeRecord returns the record of a terminal.
func decodeRecord(id string, data []byte) (*Record, error) {
	var r Record
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	err := decoder.Decode(&r.Leader)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF): // the host died while it added it
		r.Leader = Process{}
	case err == nil && decoder.More():
		return nil, errors.New("not a record: there is more")
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("not a record: %w", err)
	}
	switch {
	case r.Terminal != id:
		return nil, errors.New("not a record of this terminal")
	case r.Version != version:
		return nil, fmt.Errorf("a record of version %d; only %d is known", r.Version, version)
	case r.Session == "", len(r.Command.Args) == 0, r.Leader.PID < 0, r.Host.PID <= 0:
		return nil, errors.New("not a whole record")
	}
	return &r, nil
}

func recordName(id string) string { return id + recordSuffix }

// recordedTerminal is the terminal that a file's name says it records.
func recordedTerminal(name string) (string, bool) {
	id, found := strings.CutSuffix(name, recordSuffix)
	text, prefixed := strings.CutPrefix(id, "term_")
	parsed, err := ulid.ParseStrict(text)
	return id, found && prefixed && err == nil && parsed.String() == text
}

// temporaryName names the process that writes, so that a file of one that runs no more can be removed.
func temporaryName(id string, host Process) string {
	return fmt.Sprintf("%s.%d.%d%s", recordName(id), host.PID, host.Started, temporarySuffix)
}

// temporaryHost is the process that writes a temporary file; false if the name is none of those that temporaryName
// makes.
func temporaryHost(name string) (host Process, ok bool) {
	record, numbers, found := strings.Cut(name, recordSuffix+".")
	id, named := recordedTerminal(record + recordSuffix)
	_, err := fmt.Sscanf(numbers, "%d.%d", &host.PID, &host.Started)
	return host, found && named && err == nil && host.PID > 0 && temporaryName(id, host) == name
}
