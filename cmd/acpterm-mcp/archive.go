package main

// The archive of -archive.

import (
	"fmt"

	"github.com/acpterm/acpterm/archive"
)

// openArchive opens the archive, and says which of its files cannot be read. It returns nil without -archive.
func (opts *options) openArchive(writable []string) (*archive.Archive, error) {
	if opts.archive == "" {
		return nil, nil
	}
	a, err := archive.Open(opts.archive, nil, writable...)
	if err != nil {
		return nil, fmt.Errorf("-archive: %w", err)
	}
	for _, err := range a.Skipped() {
		say(err.Error())
	}
	return a, nil
}

// closeArchive writes the last commands. a may be nil.
func closeArchive(a *archive.Archive) error {
	if a == nil {
		return nil
	}
	if err := a.Close(); err != nil {
		return fmt.Errorf("-archive: %w", err)
	}
	return nil
}
