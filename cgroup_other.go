//go:build unix && !linux

package acpterm

import (
	"errors"
	"os"
	"syscall"
)

// cgroup is Linux's; elsewhere there is none.
type cgroup struct{}

func newCgroup(parent, _ string) (*cgroup, error) {
	if parent != "" {
		return nil, errors.New("cgroups are of Linux")
	}
	return nil, nil
}

func (*cgroup) limit(asked []EnforcedLimit) (enforced, rest []EnforcedLimit, err error) {
	return nil, asked, nil
}

func (*cgroup) prepare(*syscall.SysProcAttr) {}
func (*cgroup) remove()                      {}

// isGone leaves it to end.
func (g *procGroup) isGone() bool { return false }

// outputEnd is the reading end of a command's output.
type outputEnd = os.File

func outputPipe() (output *outputEnd, w *os.File, err error) { return os.Pipe() }

func (g *procGroup) source(ring *ringBuffer, hot *hotPipes) source {
	return newCapture(g.output, ring, hot)
}

// trees is Linux's; elsewhere each tree is ended on its own.
type trees struct{}

type entry struct{}

func (*trees) open(*loop)          {}
func (*trees) enter(int) (e entry) { return e }
func (*trees) close()              {}
func (*trees) leave(int)           {}
