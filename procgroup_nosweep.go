//go:build netbsd || openbsd || dragonfly

package acpterm

// The tree of a command where the process table is not read, since x/sys does not know it: its group is all that is
// ended.

import (
	"context"
	"syscall"
)

func (g *procGroup) end(ctx context.Context, sig syscall.Signal) (gone bool, left []int) {
	return g.endGroup(ctx, sig)
}

// strays are looked for elsewhere.
type strays struct{}

func (strays) close() {}
