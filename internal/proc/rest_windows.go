package proc

// This file watches what is left of a job, until it ends by itself, on Windows.

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/windows"
)

// maxWatched is the number of processes that one Rest watches. The next one watches the others.
const maxWatched = 16

// Rest looks for the processes of the job. It returns nil if none runs. Otherwise the caller calls await, once, and
// then looks again: await returns when the processes found have ended, which may have started others, or when ctx is
// done. await may run during End. It blocks a thread. If no process can be opened, it returns after a second.
func (t *Tree) Rest() (await func(ctx context.Context)) {
	members := t.members()
	if len(members) == 0 {
		return nil
	}
	opened := make(map[int]windows.Handle)
	for _, pid := range members[:min(len(members), maxWatched)] {
		if process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid)); err == nil {
			opened[pid] = process
		}
	}
	var processes []windows.Handle
	members = t.members() // an open handle keeps a process's ID from being reused
	for pid, process := range opened {
		if slices.Contains(members, pid) {
			processes = append(processes, process)
		} else {
			windows.CloseHandle(process)
		}
	}
	if len(members) == 0 {
		return nil
	}
	return func(ctx context.Context) {
		if len(processes) > 0 {
			awaitExits(ctx, processes)
		} else if len(opened) == 0 {
			t.pause(ctx, time.Second)
		}
	}
}

// awaitExits waits until all processes have exited or ctx is done, and closes the handles.
func awaitExits(ctx context.Context, processes []windows.Handle) {
	defer func() {
		for _, process := range processes {
			windows.CloseHandle(process)
		}
	}()
	done, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return
	}
	defer windows.CloseHandle(done)
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		windows.SetEvent(done)
		close(told)
	})
	for _, process := range processes {
		which, err := windows.WaitForMultipleObjects([]windows.Handle{process, done}, false, windows.INFINITE)
		if err != nil || which != windows.WAIT_OBJECT_0 {
			break
		}
	}
	if !stop() {
		<-told
	}
}
