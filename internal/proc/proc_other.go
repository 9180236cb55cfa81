//go:build !linux && !darwin && !freebsd && !windows

package proc

// Systems that no command can be started on.

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
)

// Supervisor starts nothing on this system: Start fails with errors.ErrUnsupported.
type Supervisor struct{ HostReaps bool }

// Tree is never made.
type Tree struct{ common }

func (*Supervisor) Start(context.Context, Spec) (*Tree, error) { return nil, errors.ErrUnsupported }
func (*Supervisor) StartCmd(*exec.Cmd, Mark) (*Tree, error)    { return nil, errors.ErrUnsupported }
func (*Supervisor) Reaped(int, syscall.WaitStatus) bool        { return false }
func (*Supervisor) Close()                                     {}
func (*Tree) End(context.Context, syscall.Signal) (left []int) { return nil }
func (*Tree) Gone() bool                                       { return false }
func (*Tree) Close()                                           {}
