package journal

// The format and names of the files, and the choice of those whose hosts are dead.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/acpterm/acpterm"
)

// record is the content of a file. It does not contain the environment.
type record struct {
	Version  int                `json:"version"`
	Terminal acpterm.TerminalID `json:"terminal"`
	Session  acpterm.SessionID  `json:"session"`
	Command  command            `json:"command"`
	Leader   process            `json:"-"` // follows the rest, or is zero if the host died before adding it
	Host     process            `json:"host"`
	Boot     string             `json:"boot"` // from bootID
	Cgroup   string             `json:"cgroup,omitempty"`
	Created  time.Time          `json:"created"`
}

// version is the version of the format. Recover reports records of other versions, and keeps them.
const version = 1

// command is an acpterm.Command as JSON, without its environment. The types have the same fields, and convert to each
// other.
type command struct {
	Path      string   `json:"path"`
	Args      []string `json:"args"`
	Dir       string   `json:"dir"`
	Env       []string `json:"-"`
	ShellLine string   `json:"shellLine,omitempty"`
}

// process identifies a process by its number and its start. The start distinguishes it from earlier and later processes
// with the number. The unit depends on the system: see newProcess and runs.
type process struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
}

// newRecord returns the record of a command of this process.
func newRecord(begun acpterm.TerminalInfo) (record, error) {
	boot, err := bootID()
	if err != nil {
		return record{}, err
	}
	host, err := newProcess(os.Getpid())
	return record{
		Version: version, Terminal: begun.ID, Session: begun.SessionID, Command: command(begun.Command),
		Host: host, Boot: boot, Cgroup: begun.Cgroup, Created: begun.Created,
	}, err
}

// abandoned reads the records, the oldest first, and returns those whose hosts no longer run. boot is the result of
// bootID. It returns an error for each file that does not belong to the journal or cannot be read. The errors name the
// files; the files stay.
func (d Dir) abandoned(boot string) (records []record, errs []error) {
	entries, err := os.ReadDir(string(d)) // by name, and thus by time in milliseconds
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, entry := range entries {
		r, err := d.readEntry(entry)
		switch {
		case errors.Is(err, fs.ErrNotExist): // its host or another reader has removed it
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", entry.Name(), err))
		case r != nil && !(r.Boot == boot && r.Host.runs()):
			records = append(records, *r)
		}
	}
	return records, errs
}

// readEntry reads a record, or returns nil for a temporary file. If the host of a temporary file runs, the file is
// being written. Otherwise its command did not start, and readEntry removes the file.
func (d Dir) readEntry(entry fs.DirEntry) (*record, error) {
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

// decodeRecord decodes the record of a terminal.
func decodeRecord(id acpterm.TerminalID, data []byte) (*record, error) {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	err := decoder.Decode(&r.Leader)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF): // the host died while adding it
		r.Leader = process{}
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

const (
	recordSuffix    = ".json"
	temporarySuffix = ".tmp"
)

func recordName(id acpterm.TerminalID) string { return string(id) + recordSuffix }

// recordedTerminal returns the terminal that a file's name refers to.
func recordedTerminal(name string) (acpterm.TerminalID, bool) {
	id, found := strings.CutSuffix(name, recordSuffix)
	text, prefixed := strings.CutPrefix(id, "term_")
	parsed, err := ulid.ParseStrict(text)
	return acpterm.TerminalID(id), found && prefixed && err == nil && parsed.String() == text
}

// temporaryName contains the writing process, so that the file can be removed when that process no longer runs.
func temporaryName(id acpterm.TerminalID, host process) string {
	return fmt.Sprintf("%s.%d.%d%s", recordName(id), host.PID, host.Started, temporarySuffix)
}

// temporaryHost returns the process that writes a temporary file, or false for a name that temporaryName cannot make.
func temporaryHost(name string) (host process, ok bool) {
	record, numbers, found := strings.Cut(name, recordSuffix+".")
	id, named := recordedTerminal(record + recordSuffix)
	_, err := fmt.Sscanf(numbers, "%d.%d", &host.PID, &host.Started)
	return host, found && named && err == nil && host.PID > 0 && temporaryName(id, host) == name
}
