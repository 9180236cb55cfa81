//go:build !linux

package acpterm

// lookout is for Linux, which has a process table to share looks at.
type lookout struct{}

// starter is for Linux, where it matters which thread starts a command.
type starter struct{}

func (*starter) run(f func()) { f() }
func (*starter) close()       {}
