//go:build !linux

package acpterm

// loop is for Linux, where it matters which thread starts a command.
type loop struct{}

func (*loop) post(func()) bool     { return false }
func (*loop) run(f func())         { f() }
func (*loop) afterJob(func()) bool { return false }
func (*loop) soon(func()) bool     { return false }
func (*loop) close()               {}
