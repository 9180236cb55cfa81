package main

// What stands between the agent and the machine, as the flags say: rules, the person who is asked, a sandbox, a record.

import (
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/bubblewrap"
)

// guards are what was asked for; the rest is nil.
type guards struct {
	policy acpterm.Policy
	asker  *asker
	wrap   acpterm.Sandbox
	audit  *audit.Log
}

// newGuards fails if one cannot be had: nothing runs without it.
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
			writable = nil // those are not of this machine
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

// finish is for when the manager is shut down: nothing is asked or put on record any more. It fails if the record is
// not complete.
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
