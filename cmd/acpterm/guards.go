package main

// This file sets up the protections that the flags ask for: rules, questions to the user, a sandbox, an audit log.

import (
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/bubblewrap"
)

// guards holds the requested protections. The others are nil.
type guards struct {
	policy acpterm.Policy
	asker  *asker
	wrap   acpterm.Sandbox
	audit  *audit.Log
}

// newGuards fails if a requested guard cannot be set up: no command may run without it.
func newGuards(opts options, screen *screen) (g guards, err error) {
	if g.policy, err = newPolicy(opts); err != nil {
		return g, fmt.Errorf("-allow: %w", err)
	}
	if opts.ask {
		in, out, err := openConsole()
		if err != nil {
			return g, fmt.Errorf("-ask: there is no terminal to ask on: %w", err)
		}
		g.asker = newAsker(in, out, screen)
	}
	var sandbox bubblewrap.Options
	if opts.audit != "" {
		writable := opts.roots
		if opts.runner != nil {
			writable = nil // these are remote directories
		}
		if g.audit, err = audit.Open(opts.audit, writable...); err != nil {
			return g, fmt.Errorf("-audit: %w", err)
		}
	}
	if opts.sandbox {
		sandbox.Network = opts.network
		if g.wrap, err = bubblewrap.New(&sandbox); err != nil {
			return g, fmt.Errorf("-sandbox: %w", err)
		}
	}
	return g, nil
}

// finish must be called after the manager's shutdown, when nothing more is asked or recorded. It fails if the record is
// incomplete.
func (g guards) finish() error {
	if g.asker != nil {
		g.asker.finish()
	}
	if g.audit != nil {
		if err := g.audit.Close(); err != nil {
			return fmt.Errorf("-audit: %w", err)
		}
	}
	return nil
}
