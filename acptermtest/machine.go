package acptermtest

// Machine is a Runner for Commands with a directory, an environment, limits, and commands that fail to start.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/acpterm/acpterm"
)

// A Machine is a Runner for Commands that also scripts the system they run on. For example, this machine does not
// enforce limits of memory, and has no room for another process:
//
//	acptermtest.Machine{
//		Commands:    acptermtest.Commands{"go test ./...": acptermtest.Print("ok\n", 0)},
//		Dir:         "/home/me",
//		Env:         []string{"HOME=/home/me", "PATH=/usr/bin"},
//		NoLimits:    []string{"Memory"},
//		StartErrors: map[string]error{"npm": syscall.EAGAIN},
//	}
//
// Like Commands, a Machine is safe for concurrent use as long as nothing in it is modified.
type Machine struct {
	Commands

	// Dir and Env are the results of Base. If BaseError is set, Base returns it instead, and every create request
	// fails. An *acpterm.Error keeps its kind, such as acpterm.ErrConnectionLost.
	Dir       string
	Env       []string
	BaseError error

	// NoLimits lists the limits that cannot be enforced, by the names of the fields of acpterm.Limits. Commands with
	// such a limit cannot be started, and the create request fails as it does on a system without the limit.
	NoLimits []string

	// StartErrors contains the errors of commands that fail to start although they exist. Its keys are in the form of
	// Commands, and take precedence over the same keys there. An *acpterm.Error keeps its kind, such as
	// acpterm.ErrNotExecutable.
	StartErrors map[string]error
}

// Base returns Dir and Env, or BaseError.
func (m Machine) Base(context.Context) (dir string, env []string, err error) {
	if m.BaseError != nil {
		return "", nil, m.BaseError
	}
	return m.Dir, slices.Clone(m.Env), nil
}

// LookPath is that of Commands, with the keys of StartErrors added.
func (m Machine) LookPath(ctx context.Context, command acpterm.Command) (acpterm.Found, error) {
	all := maps.Clone(m.Commands)
	if all == nil {
		all = make(Commands)
	}
	for key := range m.StartErrors {
		all[key] = nil
	}
	return all.LookPath(ctx, command)
}

// Start runs the Script for a command, or returns its error.
func (m Machine) Start(ctx context.Context, request acpterm.StartRequest) (acpterm.Process, error) {
	for _, limit := range limitsOf(request.Limits) {
		if slices.Contains(m.NoLimits, limit.Name) {
			return nil, &acpterm.Error{
				Kind: acpterm.ErrInternal, Field: "Limits." + limit.Name, Reason: "cannot be enforced by this Machine",
			}
		}
	}
	// The most specific key decides.
	for _, key := range keysFor(request.Command) {
		if err := m.StartErrors[key]; err != nil {
			return nil, fmt.Errorf("acptermtest: %w", err)
		}
		if m.Commands[key] != nil {
			break
		}
	}
	return m.Commands.Start(ctx, request)
}

// limitsOf returns the nonzero limits, in the units of acpterm.EnforcedLimit.
func limitsOf(l acpterm.Limits) (limits []acpterm.EnforcedLimit) {
	for _, limit := range []acpterm.EnforcedLimit{
		{Name: "CPUTime", Value: int64((l.CPUTime + time.Second - 1) / time.Second)}, {Name: "Memory", Value: l.Memory},
		{Name: "Processes", Value: int64(l.Processes)}, {Name: "OpenFiles", Value: int64(l.OpenFiles)},
		{Name: "FileSize", Value: l.FileSize}, {Name: "Nice", Value: int64(l.Nice)},
	} {
		if limit.Value > 0 {
			limit.By = "acptermtest"
			limits = append(limits, limit)
		}
	}
	return limits
}
