//go:build !linux

package acpterm

// starter is for Linux, where it matters which thread starts a command.
type starter struct{}

func (*starter) post(func()) bool     { return false }
func (*starter) run(f func())         { f() }
func (*starter) afterJob(func()) bool { return false }
func (*starter) close()               {}
