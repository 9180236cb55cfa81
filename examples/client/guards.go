package main

// What stands between the agent and the machine, as the flags say: rules, the person who is asked, a sandbox, a record.

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm"
)

// guards are what was asked for; the rest is nil.
type guards struct {
	policy acpterm.Policy
	asker  *asker
	wrap   acpterm.Wrapper
	audit  *auditFile
}

// newGuards fails if one cannot be had: there is no going on without it. unrecorded is told when the audit file
// cannot be written to.
func newGuards(opts options, screen *screen, unrecorded func(error)) (g guards, err error) {
	if g.policy, err = newPolicy(opts.rules, opts.ask); err != nil {
		return g, fmt.Errorf("-allow: %w", err)
	}
	if opts.ask {
		in, out, err := openConsole()
		if err != nil {
			return g, fmt.Errorf("-ask: there is no terminal to ask on: %w", err)
		}
		g.asker = newAsker(in, out, screen)
	}
	var sandbox acpterm.BubblewrapOptions
	if opts.audit != "" {
		if g.audit, err = openAudit(opts.audit, unrecorded); err != nil {
			return g, fmt.Errorf("-audit: %w", err)
		}
		sandbox.ReadOnly = []string{g.audit.path} // it may be in a root
	}
	if opts.sandbox {
		sandbox.Network = opts.network
		if g.wrap, err = acpterm.NewBubblewrap(&sandbox); err != nil {
			return g, fmt.Errorf("-sandbox: %w", err)
		}
	}
	return g, nil
}

// finish is for when the manager is shut down: nothing is asked or put on record any more.
func (g guards) finish() {
	if g.asker != nil {
		g.asker.finish()
	}
	if g.audit != nil {
		g.audit.Close()
	}
}

// auditFile is the file of -audit. slog drops the errors of what it writes to, so they are told from here.
type auditFile struct {
	*os.File
	path   string
	failed func(error)
}

// openAudit opens a file to add to. It is for its owner alone: it has the arguments of commands.
func openAudit(path string, failed func(error)) (*auditFile, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &auditFile{file, path, failed}, nil
}

func (f *auditFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		f.failed(fmt.Errorf("cannot write to the audit file: %w", err))
	}
	return n, err
}

// events is the hook that writes to the file.
func (f *auditFile) events() func(acpterm.Event) {
	return acpterm.LogEvents(slog.New(slog.NewJSONHandler(f, nil)))
}
