//go:build !linux

package acpterm

// loop is for Linux, where it matters which thread starts a command.
type loop struct{}

func (*loop) post(func(pauseFunc)) bool { return false }
func (*loop) run(f func(pauseFunc))     { f(nil) }
func (*loop) afterJob(func()) bool      { return false }
func (*loop) soon(func()) bool          { return false }
func (*loop) close()                    {}

// loan is for Linux, too.
type loan struct{}
