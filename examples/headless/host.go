package main

// This file has the settings for all agents: limits, rules, and the audit.

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/journal"
	"github.com/acpterm/acpterm/policy"
)

// config holds the values of the flags.
type config struct {
	state, rules, cgroup string
	sandbox              bool
}

// host runs jobs. run may be called concurrently.
type host struct {
	options acpterm.Options // for each agent's manager
	audit   *audit.Log
	state   string   // the directory of the audit and the journal, with symbolic links resolved
	env     []string // inherited by every command
}

// newHost returns a host. It first ends the processes left running by an earlier host that died.
func newHost(ctx context.Context, c config) (*host, error) {
	if c.state == "" || c.rules == "" {
		return nil, errors.New("-state and -rules are required")
	}
	state, err := filepath.Abs(c.state)
	if err := errors.Join(err, os.MkdirAll(state, 0o700)); err != nil {
		return nil, err
	}
	h := &host{env: policy.InheritVariables(os.Environ(),
		"PATH", "HOME", "LANG", "LC_*", "TMPDIR", "SYSTEMROOT", "PATHEXT", "TEMP")}
	allowed, err := loadPolicy(c.rules, h.env)
	if err != nil {
		return nil, err
	}
	var sandbox acpterm.Sandbox
	if c.sandbox {
		if sandbox, err = bubblewrap.New(&bubblewrap.Options{Hidden: []string{state}}); err != nil {
			return nil, err
		}
	}
	if h.state, err = filepath.EvalSymlinks(state); err != nil {
		return nil, err
	}
	if h.audit, err = audit.Open(filepath.Join(state, "audit.json")); err != nil {
		return nil, err
	}
	records := filepath.Join(state, "journal")
	recoverFrom(ctx, records)
	limits := acpterm.Limits{CPUTime: 30 * time.Minute, Nice: 5}
	if c.cgroup != "" { // without a cgroup, Processes would count all of the user's processes, and Memory address space
		limits.Memory, limits.Processes = 4<<30, 512
	}
	h.options = acpterm.Options{
		RequireSessions: true,
		Commands: acpterm.CommandOptions{
			Env:             h.env,
			Sandbox:         sandbox,
			Limits:          new(limits),
			Timeout:         15 * time.Minute,
			OutputByteLimit: 256 << 10,
		},
		Policy: allowed,
		Cgroup: c.cgroup,

		MaxTerminals:       16,
		MaxOutputByteLimit: 1 << 20,
		MaxReservedBytes:   8 << 20,

		Journal: journal.Dir(records),
		Record:  h.audit.Record,
	}
	return h, nil
}

// loadPolicy reads the rules. It looks up their programs in the commands' PATH.
func loadPolicy(file string, env []string) (acpterm.Policy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rules, err := policy.ParseRules(data)
	if err != nil {
		return nil, err
	}
	programs, err := rules.Compile(env)
	return acpterm.Policies{programs, policy.AllowVariables(policy.SafeVariables()...)}, err
}

// recoverFrom ends the processes left running by hosts that died.
func recoverFrom(ctx context.Context, records string) {
	recovered, err := journal.Recover(ctx, records)
	for _, r := range recovered {
		slog.Warn("recovered", "terminal", r.TerminalID, "session", r.SessionID, "args", r.Command.Args,
			"ended", r.Ended, "survivors", r.Survivors)
	}
	if err != nil {
		slog.Error("not all could be recovered", "error", err)
	}
}
