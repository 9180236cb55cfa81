package procfs

import "golang.org/x/sys/unix"

// zombie is the state of a zombie process (SZOMB in sys/proc.h).
const zombie = 5

// List returns the whole process table, including zombies.
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

// Read returns the entry of a process, or false if the process does not exist.
func Read(pid int) (Process, bool) {
	line, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, false
	}
	return processOf(line), true
}

// processOf converts an entry. It queries the session separately. If the number belongs to another process by then, the
// entry describes a dead process, whose start time differs from that of the other process.
func processOf(line *unix.KinfoProc) Process {
	started := line.Proc.P_starttime // time of the fork; setting the clock does not change it
	p := Process{
		ID:     ID{int(line.Proc.P_pid), uint64(started.Sec*1e6 + int64(started.Usec))},
		Parent: int(line.Eproc.Ppid),
		Group:  int(line.Eproc.Pgid),
		Exited: line.Proc.P_stat == zombie,
	}
	if !p.Exited {
		p.Session, _ = unix.Getsid(p.PID) // ESRCH for an exiting process (XNU getsid: proc_find)
	}
	return p
}
