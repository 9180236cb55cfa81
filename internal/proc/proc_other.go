//go:build !linux && !darwin && !freebsd && !windows

package proc

// This file is for systems that cannot start commands.

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
)

// Supervisor cannot start anything on this system: Start returns errors.ErrUnsupported.
type Supervisor struct{}

// Tree is never created.
type Tree struct{ common }

func (*Supervisor) Start(context.Context, Spec) (*Tree, error)   { return nil, errors.ErrUnsupported }
func (*Supervisor) StartCmd(*exec.Cmd, Mark) (*Tree, error)      { return nil, errors.ErrUnsupported }
func (*Supervisor) Close()                                       {}
func (*Tree) End(context.Context, syscall.Signal) ([]int, error) { return nil, nil }
func (*Tree) Gone() bool                                         { return false }
func (*Tree) Rest() func(context.Context)                        { return nil }
func (*Tree) Close()                                             {}
