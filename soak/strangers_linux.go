package main

// Processes unrelated to acpterm, with the former numbers of commands.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
)

// strangers makes processes take the numbers that commands had, ends the commands' trees, and counts signals to the
// strangers. It also counts statuses of other commands, and errors that do not describe the problem of the host.
func strangers(r *run) {
	r.zero("strangers signalled", "statuses that are not the command's", "errors of no kind of their own",
		"trees with some left")
	helper, err := startStrangers()
	if err != nil {
		r.fail("errors of no kind of their own", 1, "the helper: %v", err)
		return
	}
	defer helper.stop()
	s, closeAll := r.serve(acpterm.Options{})
	defer closeAll()
	const taken = "strangers with a command's number"
	r.note(taken, 0)
	if !r.host.keeps {
		r.zero("hosts whose numbers no stranger could take")
	}
	r.each(func(i int, rnd *rand.Rand) {
		if stranger(r, s, helper, i, rnd) {
			r.note(taken, 1)
		}
	})
	if !r.host.keeps && r.value(taken) == 0 {
		r.fail("hosts whose numbers no stranger could take", 1, "/proc/sys/kernel/ns_last_pid is not to be written")
	}
	for _, p := range helper.gone() {
		r.fail("strangers signalled", 1, "%v", p)
	}
}

// stranger reports whether a stranger had the command's number.
func stranger(r *run, s *served, helper *helper, i int, rnd *rand.Rand) (taken bool) {
	t := r.tree(i)
	named := new(survivors)
	ctx, cancel := bounded()
	defer cancel()
	lines := []string{"exit 7", "sleep 0.01; exit 7", "sleep 0.03 & exit 7", "setsid sleep 60 & exit 7"}
	options := quick(20 * time.Millisecond)
	limited := rnd.IntN(4) == 0
	if limited {
		options.Limits = &acpterm.Limits{OpenFiles: 100}
	}
	how := fmt.Sprintf("%q, limits %v", lines[i%len(lines)], limited)
	creating, cancelCreate := context.WithTimeout(ctx, 20*time.Second)
	defer cancelCreate()
	begun := time.Now()
	helper.mu.RLock()
	term, err := s.m.Create(creating, t.command("sh", "-c", "echo $$; "+lines[i%len(lines)]), options)
	if took := time.Since(begun); took > 40*time.Second {
		r.fail("hung", 1, "Create took %v: %s", took, how)
	}
	if err != nil {
		helper.mu.RUnlock()
		r.ownKind("Create", how, err)
		r.check(t, named, how+": create failed")
		return false
	}
	waiting, cancelWait := context.WithTimeout(ctx, 10*time.Second)
	status, err := term.Wait(waiting)
	cancelWait()
	helper.mu.RUnlock()
	switch {
	case errors.Is(err, acpterm.ErrCancelled):
		r.fail("hung", 1, "Wait after the command's exit: %s", how)
	case err != nil:
		r.ownKind("Wait", how, err)
	case status.ExitCode == nil || *status.ExitCode != 7:
		r.fail("statuses that are not the command's", 1, "%v: %s", status, how)
	}
	var pid int
	fmt.Sscanf(term.Output().Output, "%d\n", &pid)
	taken = pid > 0 && helper.take(pid)
	begun = time.Now()
	var killed error
	if rnd.IntN(2) == 0 {
		killed = term.Kill(ctx)
	}
	err = errors.Join(killed, s.m.Release(ctx, t.session, term.ID()))
	r.most("ms for the slowest end", time.Since(begun).Milliseconds())
	r.ended(t, named, how, err)
	for _, p := range helper.gone() {
		r.fail("strangers signalled", 1, "%v: %s", p, how)
	}
	return taken
}

// ended checks a tree after its end, which returned err.
func (r *run) ended(t *tree, named *survivors, how string, err error) {
	named.from(err)
	if errors.Is(err, acpterm.ErrCancelled) {
		r.fail("hung", 1, "the end: %s", how)
	} else if err != nil {
		r.ownKind("the end", how, err)
	}
	if err == nil || r.host.keeps {
		r.check(t, named, how)
	} else {
		r.note("ends with an error", 1)
		r.excuse(t)
	}
}

// ownKind counts an error whose kind does not tell its reason. If the host is intact, any error is wrong.
func (r *run) ownKind(op, how string, err error) {
	failure, ok := errors.AsType[*acpterm.Error](err)
	if ok {
		r.note(fmt.Sprintf("errors %q", failure.Kind), 1)
	}
	if !ok || r.host.keeps && failure.Kind != acpterm.ErrSurvivors || failure.Kind == acpterm.ErrInternal {
		r.fail("errors of no kind of their own", 1, "%s: %s: %v", op, how, err)
	}
}

// helper is a process that starts other processes with requested numbers. It may be used concurrently.
type helper struct {
	cmd *exec.Cmd
	to  io.WriteCloser

	// Commands that may start processes hold mu for reading: take sets the next number back, by too little to be seen
	// as a wrap, and these processes would have lower numbers than the command.
	mu      sync.RWMutex
	from    *bufio.Reader
	started []process
}

func startStrangers() (*helper, error) {
	cmd := exec.Command(executable(), "children", "strangers")
	cmd.Stderr = os.Stderr
	to, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	return &helper{cmd: cmd, to: to, from: bufio.NewReader(out)}, cmd.Start()
}

// take reports whether a stranger has that number now.
func (h *helper) take(pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := fmt.Fprintln(h.to, pid); err != nil {
		return false
	}
	line, err := h.from.ReadString('\n')
	if err != nil {
		return false
	}
	p, ok := parseStat(line)
	if !ok {
		return false
	}
	h.started = append(h.started, p)
	return p.pid == pid
}

// gone returns the ended strangers, each of them once.
func (h *helper) gone() (gone []process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var still []process
	for _, p := range h.started {
		if p.runs() {
			still = append(still, p)
		} else {
			gone = append(gone, p)
		}
	}
	h.started = still
	return gone
}

func (h *helper) stop() {
	h.to.Close()
	h.cmd.Wait()
}

// strangersChild starts a process for each number in its input, with that number if possible, and writes its line of
// /proc/PID/stat. When the input ends it ends all of them.
func strangersChild([]string) {
	var all []*os.Process
	sleep, err := exec.LookPath("sleep")
	check(err)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		want := number(in.Text())
		var wrong []*os.Process
		var got process
		for range 20 {
			if p, there := readProcess(want); there && p.state != 'X' { // a zombie, or an earlier stranger
				break
			}
			// Set the next number. This requires CAP_SYS_ADMIN in the namespace; without it, strangers have other
			// numbers.
			os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(fmt.Sprint(want-1)), 0)
			session := &os.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}}
			p, err := os.StartProcess(sleep, []string{"sleep", "3600"}, session)
			check(err)
			got, _ = readProcess(p.Pid)
			if p.Pid == want {
				all = append(all, p)
				break
			}
			wrong = append(wrong, p)
		}
		if got.pid != want && len(wrong) > 0 { // one with another number is unrelated, too
			last := wrong[len(wrong)-1]
			all, wrong = append(all, last), wrong[:len(wrong)-1]
		}
		for _, p := range wrong {
			p.Kill()
			p.Wait()
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", got.pid)) // empty without a process
		fmt.Println(strings.TrimSpace(string(line)))
	}
	for _, p := range all {
		p.Kill()
		p.Wait()
	}
	check(in.Err())
}
