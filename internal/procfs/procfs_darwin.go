package procfs

import "golang.org/x/sys/unix"

// zombie is the state of a zombie (SZOMB in sys/proc.h).
const zombie = 5

// List is the whole table, zombies too.
func List() ([]Process, error) {
	lines, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	table := make([]Process, 0, len(lines))
	for i := range lines {
		table = append(table, processOf(&lines[i]))
	}
	return table, nil
}

// Read is the line of the process with a number; false if there is none.
func Read(pid int) (Process, bool) {
	line, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, false
	}
	return processOf(line), true
}

// processOf reads a line. The session is asked for after the rest: should the number belong to another process by
// then, the line is of one that is gone, and its start time tells it from the other.
func processOf(line *unix.KinfoProc) Process {
	started := line.Proc.P_starttime // of the fork, and not changed with the clock
	p := Process{
		ID:     ID{int(line.Proc.P_pid), uint64(started.Sec*1e6 + int64(started.Usec))},
		Parent: int(line.Eproc.Ppid),
		Group:  int(line.Eproc.Pgid),
		Exited: line.Proc.P_stat == zombie,
	}
	if !p.Exited {
		p.Session, _ = unix.Getsid(p.PID) // ESRCH for a process that is exiting (XNU getsid: proc_find)
	}
	return p
}
