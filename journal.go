package acpterm

// The journal: an entry for each command from before its start until its tree is gone. The next host finds the
// processes of a dead host in it.

import (
	"cmp"
	"path/filepath"
)

// A Journal has an entry for each command that may still be running so that it can be found if the host crashes. Its
// methods may be called concurrently for different terminals. If a method panics, the panic is logged and treated as an
// error.
type Journal interface {
	// Begin adds an entry for a command before it is started and before a Sandbox rewrites it. Its Env is nil, since it
	// may contain secrets. If Begin returns an error, nothing is started and Create fails with ErrInternal.
	Begin(info TerminalInfo) error
	// Started adds the command's PID to the entry. It should collect any information it needs about the process and
	// then call unreaped. If unreaped returns false, the PID may have been reused, and Started must not add
	// anything. If Started returns an error, the tree is killed and Create returns ErrInternal.
	Started(id TerminalID, pid int, unreaped func() bool) error
	// End removes the entry, if any, once the process tree has exited. If End fails after a kill, Kill still succeeds,
	// and End is called again when the terminal is released. If it fails again, Release returns ErrInternal.
	End(id TerminalID) error
}

// beginEntry sets the terminal's journal, which may be nil, and calls its Begin.
func (t *Terminal) beginEntry(j Journal, c Command) error {
	if t.journal = j; j == nil {
		return nil
	}
	info := t.Info()
	info.Command, info.Command.Env, info.Cgroup = c.clone(), nil, t.ownCgroup()
	return t.callJournal("create", "Begin", func() error { return t.journal.Begin(info) })
}

// ownCgroup is the directory of the command's cgroup, or empty.
func (t *Terminal) ownCgroup() string {
	if t.cgroup == "" {
		return ""
	}
	return filepath.Join(t.cgroup, string(t.id))
}

// endEntry calls the journal's End.
func (t *Terminal) endEntry() error {
	err := t.callJournal("release", "End", func() error { return t.journal.End(t.id) })
	if err == nil {
		t.journal = nil
	}
	return err
}

// callJournal calls a method of the journal, if that is not nil. op is the operation of the error.
func (t *Terminal) callJournal(op, method string, call func() error) (err error) {
	if t.journal == nil {
		return nil
	}
	panicked := callHook("Journal's "+method, func() { err = call() })
	if err = cmp.Or(panicked, err); err == nil {
		return nil
	}
	return &Error{Op: op, Kind: ErrInternal, SessionID: t.SessionID(), TerminalID: t.id,
		Reason: "the journal cannot be written", Err: err}
}
