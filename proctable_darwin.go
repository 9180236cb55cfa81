package acpterm

// The process table of macOS: sysctl kern.proc, as ps reads it, and getsid for the session, which kinfo_proc
// names by an address in the kernel only. It only reads; what it says may have changed by the time it is read
// (procgroup_kqueue.go says how that harms nobody).

import "golang.org/x/sys/unix"

// processes reads the whole table, zombies too.
func processes() ([]process, error) {
	lines, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	table := make([]process, 0, len(lines))
	for i := range lines {
		table = append(table, processOf(&lines[i]))
	}
	return table, nil
}

// readProcess reads one line of the table; false if there is no such process.
func readProcess(pid int) (process, bool) {
	line, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, false
	}
	return processOf(line), true
}

// processOf reads a line. The session is asked for after the rest: should the number belong to another process by
// then, the line is of one that is gone, which no later look takes for the other.
func processOf(line *unix.KinfoProc) process {
	started := line.Proc.P_starttime // of the fork, and not changed with the clock
	p := process{
		identity: identity{int(line.Proc.P_pid), started.Sec*1e6 + int64(started.Usec)},
		parent:   int(line.Eproc.Ppid),
		group:    int(line.Eproc.Pgid),
		zombie:   line.Proc.P_stat == szomb,
	}
	if !p.zombie {
		p.session, _ = unix.Getsid(p.pid) // ESRCH for who is exiting (XNU getsid: proc_find)
	}
	return p
}
