package main

// The directories of this program's own files, and the journal, which is in one of them unless -journal says otherwise.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/journal"
)

// stateDir returns the directory for files that later runs of this program read. It may be missing.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "acpterm"), nil
	}
	switch runtime.GOOS {
	case "windows":
		dir, err := os.UserCacheDir() // %LocalAppData%
		return filepath.Join(dir, "acpterm"), err
	case "darwin":
		dir, err := os.UserConfigDir() // ~/Library/Application Support
		return filepath.Join(dir, "acpterm"), err
	}
	dir, err := os.UserHomeDir()
	return filepath.Join(dir, ".local", "state", "acpterm"), err
}

// journalName returns the name of this machine's journal. A home directory may be shared by machines and containers,
// where the numbers of processes mean others.
func journalName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil && runtime.GOOS == "linux" {
		return "", err
	}
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, "journal-"+host+"-"+strings.Trim(namespace, "pid:[]")), nil
}

// ownDir returns a directory for this program's own files outside of the directories where commands may write, and
// creates it: the state directory or, if that does not work, the one for files of the running system.
func (opts *options) ownDir() (string, error) {
	dir, failed := stateDir()
	if failed == nil {
		if failed = opts.prepare(dir); failed == nil {
			return dir, nil
		}
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		dir = filepath.Join(dir, "acpterm")
		if opts.prepare(dir) == nil {
			return dir, nil
		}
	}
	return "", failed
}

// written returns the directories of this machine where commands may write.
func (opts *options) written() []string {
	if opts.runner != nil {
		return nil
	}
	return slices.Concat(opts.roots, opts.writable)
}

// prepare creates a directory, and fails if it cannot be written, or can be by commands.
func (opts *options) prepare(dir string) error {
	if err := outside(dir, opts.written()); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// openJournal ends what earlier runs left behind, and returns the journal, or "" for none. It fails only for a journal
// that the user named.
func (opts *options) openJournal(ctx context.Context) (journal.Dir, error) {
	switch {
	case opts.journal != nil && *opts.journal == "", opts.runner != nil:
		return "", nil
	case opts.journal != nil:
		if err := recoverCommands(ctx, *opts.journal); err != nil {
			return "", fmt.Errorf("-journal: %w", err)
		}
		return journal.Dir(*opts.journal), nil
	}
	dir, err := opts.ownDir()
	name, nameErr := journalName()
	if err = cmp.Or(err, nameErr); err != nil {
		say(fmt.Sprintf("no journal is kept (-journal DIRECTORY names another place): %v", err))
		return "", nil
	}
	dir = filepath.Join(dir, name)
	if err := recoverCommands(ctx, dir); err != nil { // start all the same
		say(fmt.Sprintf("the journal in %s: %v", dir, err))
	}
	return journal.Dir(dir), nil
}

// recoverCommands ends the commands of earlier runs of this program, if it was killed.
func recoverCommands(ctx context.Context, dir string) error {
	left, err := journal.Recover(ctx, dir)
	for _, r := range left {
		if len(r.Ended) == 0 {
			continue
		}
		say(fmt.Sprintf("ended %d processes that an earlier run left behind: %s", len(r.Ended), r.Command))
	}
	return err
}
