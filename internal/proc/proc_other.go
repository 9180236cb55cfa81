//go:build !linux && !darwin && !freebsd && !windows

package proc

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// Supervisor starts nothing on this system: Start fails with errors.ErrUnsupported.
type Supervisor struct{ HostReaps bool }

// Tree is never made.
type Tree struct{}

func (*Supervisor) Start(context.Context, Spec) (*Tree, error) { return nil, errors.ErrUnsupported }
func (*Supervisor) Reaped(int, syscall.WaitStatus) bool        { return false }
func (*Supervisor) Close()                                     {}
func (*Tree) PID() int                                         { return 0 }
func (*Tree) Output() *os.File                                 { return nil }
func (*Tree) Limits() []Limit                                  { return nil }
func (*Tree) OnExit(func(Exit, error))                         {}
func (*Tree) End(context.Context, syscall.Signal) (left []int) { return nil }
func (*Tree) Close()                                           {}
