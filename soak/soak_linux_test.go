package main

// Checks of the soak's own measurements against known results.

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "children" {
		child(os.Args[2], os.Args[3:])
		return
	}
	racetest.Restart()
	os.Exit(m.Run())
}

func TestWhatABurstShows(t *testing.T) {
	plain := burst{manner: "exit", seed: 1, size: 100}
	cut := burst{manner: "exit", seed: 1, size: 100, limit: 40}
	broken := burst{manner: "exit", seed: 1, size: 100, broken: true, limit: 2}
	for _, c := range []struct {
		burst
		length    int
		truncated bool
	}{{plain, 100, false}, {cut, 40, true}, {broken, 0, true}} {
		if shown, truncated := c.shown(); len(shown) != c.length || truncated != c.truncated {
			t.Errorf("%v: %d bytes, truncated %v", c.burst, len(shown), truncated)
		}
	}
}

// A tree that nothing ends is found by its mark and by its log, and counted once.
func TestATreeThatIsLeftCounts(t *testing.T) {
	r := newRun(settings{seed: 1, procs: 1}, scenario{name: "test", count: 1}, t.TempDir())
	if err := os.WriteFile(r.script(), treesScript, 0o755); err != nil {
		t.Fatal(err)
	}
	tr := r.tree(0)
	cmd := exec.Command(r.script(), "three")
	for _, v := range tr.script(r).Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	runsNoSleep := func(p process) bool { return p.name != "sleep" }
	for len(slices.DeleteFunc(withVariable(tr.mark), runsNoSleep)) < 2 { // then each has a program, and its environment
		time.Sleep(time.Millisecond)
	}
	if marked, left := withVariable(tr.mark), tr.left(); len(marked) != 3 || len(left) != 3 {
		t.Errorf("marked: %v, left: %v", marked, left)
	}
	r.check(tr, new(survivors), "not ended")
	r.sweep()
	cmd.Wait()
	if left := tr.left(); r.ok() || len(left) > 0 || !strings.Contains(r.line(), " 1 trees with some left") {
		t.Errorf("%s; left: %v", r.line(), left)
	}
	named := new(survivors)
	named.from(&acpterm.Error{Kind: acpterm.ErrSurvivors, PIDs: []int{7}})
	if !named.has(7) {
		t.Error("what an error names is not named")
	}
}
