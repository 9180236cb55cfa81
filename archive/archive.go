// Package archive keeps ended commands with their output in a directory, so that users find them after a restart of the
// program. The live page of package view shows and searches them:
//
//	a, err := archive.Open(dir, nil)
//	a.Keep(m, "")
//	v, err := view.New(m, &view.Options{Archive: a})
//	…
//	m.Close()
//	a.Close()
//
// The page shows all contents of the files: the command line, the directory, the names of the session and the manager,
// the times, how the command ended, and the retained output. The files do not contain the environment, or input that
// the command did not echo. Only their owner can read them.
package archive

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// Options limits an Archive. Terminals that ended first are removed first.
type Options struct {
	// MaxBytes is the maximum total size of the files. While an output is being written, its temporary file adds to it.
	// The default is 256 MiB. Output is compressed.
	MaxBytes int64
	// MaxAge is how long a terminal is kept after its end. The default is 30 days. Older ones are removed by Open and
	// when another terminal ends.
	MaxAge time.Duration
	// MaxTerminals is the maximum number of terminals. The default is 1,000.
	MaxTerminals int
}

// An Archive is a directory of ended terminals. Several programs may use the same directory at once. Each applies its
// own limits to all terminals in it.
//
// An Archive is safe for concurrent use by multiple goroutines.
type Archive struct {
	dir     string
	options Options
	run     string // identifies this Archive in records
	jobs    chan job
	writing sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	stops     []func()
	terminals []*Terminal // by file
	skipped   []error
	failure   error // of the first write that failed
	names     map[sessionKey]string
	named     []sessionKey // keys of names, oldest first
}

// sessionKey identifies a session of this run.
type sessionKey struct {
	manager string
	session acpterm.SessionID
}

// Limits of an Archive's memory.
const (
	maxJobs    = 64   // terminals that wait to be written
	maxNames   = 1000 // of sessions
	maxSkipped = 100  // errors
)

// staleAfter is the age of a temporary file that no program writes any more.
const staleAfter = time.Hour

// Open opens the archive in a directory, and creates the directory if it does not exist. If options is nil, the
// defaults apply. Open fails if other users may access the directory, or if it is in one of the roots, before or after
// symbolic links are resolved: commands must not write to it.
//
// Files that cannot be read, such as those of a crash, are left out; see Skipped. Close must be called after the
// managers are closed.
func Open(dir string, options *Options, roots ...string) (*Archive, error) {
	a := &Archive{run: rand.Text(), jobs: make(chan job, maxJobs), names: make(map[sessionKey]string)}
	if options != nil {
		a.options = *options
	}
	o := &a.options
	if o.MaxBytes < 0 || o.MaxAge < 0 || o.MaxTerminals < 0 {
		return nil, errors.New("archive: the limits in Options must not be negative")
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, 256<<20)
	o.MaxAge = cmp.Or(o.MaxAge, 30*24*time.Hour)
	o.MaxTerminals = cmp.Or(o.MaxTerminals, 1000)
	var err error
	if a.dir, err = filepath.Abs(dir); err == nil {
		err = checkOutside(a.dir, roots)
	}
	if err == nil {
		err = os.MkdirAll(a.dir, 0o700)
	}
	if err == nil {
		err = keepFromOthers(a.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: the directory cannot be used: %w", err)
	}
	for _, name := range a.trim(a.skip) {
		t, err := readTerminal(a, name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another program has removed it
		case err != nil:
			a.skip(name, err)
		default:
			a.terminals = append(a.terminals, t)
		}
	}
	a.writing.Go(a.writeAll)
	return a, nil
}

// Close stops to record, waits until the ended terminals are written, and returns the first error of writing,
// if any. Terminals can still be read. Subsequent calls have no effect.
func (a *Archive) Close() error {
	a.mu.Lock()
	closed, stops := a.closed, a.stops
	a.closed, a.stops = true, nil
	a.mu.Unlock()
	if closed {
		return nil
	}
	for _, stop := range stops {
		stop()
	}
	close(a.jobs)
	a.writing.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failure
}

// Terminals returns the terminals in the archive, the first to end first. It does not include the later ones of other
// programs.
func (a *Archive) Terminals() []*Terminal {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.terminals)
}

// Find returns a terminal recorded by this Archive, or nil. manager is the name passed to Keep.
func (a *Archive) Find(manager string, session acpterm.SessionID, id acpterm.TerminalID) *Terminal {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range slices.Backward(a.terminals) {
		if r := t.record; r.Run == a.run && r.Manager == manager && r.Session == session && r.Terminal == id {
			return t
		}
	}
	return nil
}

// Skipped returns an error for each file that could not be read, or could be read only in part. Such files remain until
// the limits remove them, and files with other names than those of the archive remain forever.
func (a *Archive) Skipped() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.skipped)
}

func (a *Archive) skip(name string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.skipped) < maxSkipped {
		a.skipped = append(a.skipped, fmt.Errorf("archive: %s: %w", name, err))
	}
}

// NameSession sets the recorded name of a session, such as its title, for its later terminals. manager is the name
// passed to Keep. If name is empty, the session has no name.
func (a *Archive) NameSession(manager string, session acpterm.SessionID, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := sessionKey{cut(manager, maxText), session}
	if _, again := a.names[key]; !again {
		a.named = append(a.named, key)
	}
	a.names[key] = cut(name, maxText)
	if len(a.named) > maxNames {
		delete(a.names, a.named[0])
		a.named = slices.Delete(a.named, 0, 1)
	}
}

// trim removes the files beyond the limits, and those that a crash has left half written. It returns the names of the
// others, the first to end first. It calls skip for foreign files.
func (a *Archive) trim(skip func(name string, err error)) (names []string) {
	entries, err := os.ReadDir(a.dir) // by name
	if err != nil {
		skip(a.dir, err)
	}
	now, full, bytes := time.Now(), false, int64(0)
	for _, entry := range slices.Backward(entries) {
		info, err := entry.Info()
		if err != nil {
			continue // another program has removed it
		}
		ended, ours := endOf(entry.Name())
		ours = ours && info.Mode().IsRegular()
		switch {
		case strings.HasPrefix(entry.Name(), temporaryPrefix):
			if now.Sub(info.ModTime()) > staleAfter {
				os.Remove(filepath.Join(a.dir, entry.Name()))
			}
			continue
		case !ours:
			skip(entry.Name(), errors.New("not a file of an archive"))
			continue
		}
		full = full || len(names) == a.options.MaxTerminals ||
			info.Size() <= a.options.MaxBytes && bytes+info.Size() > a.options.MaxBytes
		if full || info.Size() > a.options.MaxBytes || now.Sub(ended) > a.options.MaxAge {
			os.Remove(filepath.Join(a.dir, entry.Name())) // fails on Windows while the file is being read
			continue
		}
		bytes += info.Size()
		names = append(names, entry.Name())
	}
	slices.Reverse(names)
	return names
}
