//go:build linux || darwin || freebsd

package proc

// This file has the part of the trace for systems whose trees have no job object.

// leaves tells why a process that exists gets no signal.
func (t *trace) leaves(pid int, why string) {
	if t != nil {
		t.once("leaves alone", pid, 0, why, nil)
	}
}
