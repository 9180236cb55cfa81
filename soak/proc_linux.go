package main

// Information from /proc: the processes with a variable, one process, and this process.

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process in /proc, identified by its number and start time together.
type process struct {
	pid     int
	started uint64
	parent  int
	state   byte
	name    string
}

func (p process) String() string { return fmt.Sprintf("%d (%s, %c)", p.pid, p.name, p.state) }

// parseStat parses a line of /proc/PID/stat.
func parseStat(line string) (p process, ok bool) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return p, false
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 20 {
		return p, false
	}
	var errs [3]error
	p.pid, errs[0] = strconv.Atoi(strings.TrimSpace(line[:open]))
	p.parent, errs[1] = strconv.Atoi(fields[1])
	p.started, errs[2] = strconv.ParseUint(fields[19], 10, 64)
	p.state, p.name = fields[0][0], line[open+1:end]
	return p, errs == [3]error{}
}

func readProcess(pid int) (process, bool) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	return parseStat(string(line))
}

// runs reports whether the process still exists and is not a zombie.
func (p process) runs() bool {
	now, ok := readProcess(p.pid)
	return ok && now.started == p.started && now.state != 'Z' && now.state != 'X'
}

// withVariable returns the running processes with a variable that begins with this text in their environment.
func withVariable(variable string) (found []process) {
	return eachProcess(func(pid int) bool {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable))
	})
}

// eachProcess returns the running processes that satisfy a function, except this one.
func eachProcess(is func(pid int) bool) (found []process) {
	return eachState(func(p process) bool {
		return p.state != 'Z' && p.state != 'X' && p.pid != os.Getpid() && is(p.pid)
	})
}

// eachState returns the processes, including zombies, that satisfy a function.
func eachState(is func(p process) bool) (found []process) {
	dir, err := os.Open("/proc")
	if err != nil {
		panic(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, there := readProcess(pid); there && is(p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// end kills a process left by this program's commands.
func (p process) end() {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil { // also where it is refused
		if p.runs() {
			unix.Kill(p.pid, unix.SIGKILL)
		}
		return
	}
	defer unix.Close(pidfd)
	if p.runs() {
		unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	}
}

// resources are the resources of this process.
type resources struct {
	goroutines, descriptors, threads int
	heap, resident                   int64
}

// slack is the allowed increase of resources.
type slack struct {
	goroutines, descriptors, threads int
	heap, resident                   int64 // not compared if 0
}

func ownResources() resources {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	res := resources{goroutines: runtime.NumGoroutine(), heap: int64(mem.HeapAlloc)}
	descriptors, _ := os.ReadDir("/proc/self/fd")
	threads, _ := os.ReadDir("/proc/self/task")
	statm, _ := os.ReadFile("/proc/self/statm")
	var size, resident int64
	fmt.Sscan(string(statm), &size, &resident)
	res.descriptors, res.threads, res.resident = len(descriptors), len(threads), resident*int64(os.Getpagesize())
	return res
}

func (res resources) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d threads, %d KiB heap, %d KiB resident",
		res.goroutines, res.descriptors, res.threads, res.heap>>10, res.resident>>10)
}

// compare counts increased resources. It first waits some seconds for ending goroutines and descriptors.
func (r *run) compare(before resources, may slack) resources {
	r.zero("goroutines left", "descriptors left")
	var now resources
	for range 100 {
		now = ownResources()
		if now.goroutines <= before.goroutines+may.goroutines && now.descriptors <= before.descriptors+may.descriptors {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, c := range []struct {
		name             string
		before, now, may int64
		always           bool
	}{
		{"goroutines left", int64(before.goroutines), int64(now.goroutines), int64(may.goroutines), true},
		{"descriptors left", int64(before.descriptors), int64(now.descriptors), int64(may.descriptors), true},
		{"threads left", int64(before.threads), int64(now.threads), int64(may.threads), false},
		{"bytes of heap left", before.heap, now.heap, may.heap, false},
		{"bytes resident left", before.resident, now.resident, may.resident, false},
	} {
		if !c.always && c.may == 0 {
			continue
		}
		r.zero(c.name)
		if c.now > c.before+c.may {
			r.fail(c.name, c.now-c.before, "%d before, %d now", c.before, c.now)
			if c.name == "goroutines left" {
				stacks := make([]byte, 16<<10)
				os.Stderr.Write(stacks[:runtime.Stack(stacks, true)])
			}
		}
	}
	return now
}
