//go:build linux || darwin || freebsd

package acpterm_test

// The nasty children: what commands do, by accident or not, that leaves processes behind. Each says the pids that
// have to be gone, a line each, and "ready" when all is set up.

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// start starts a child of this child.
func start(attr *os.ProcAttr, name string, args ...string) *os.Process {
	process, err := os.StartProcess(executable(), childArgs(name, args...), attr)
	if err != nil {
		panic(err)
	}
	return process
}

var (
	inherit = []*os.File{os.Stdin, os.Stdout, os.Stderr}
	setsid  = &syscall.SysProcAttr{Setsid: true}
)

// soLong is longer than any test, and not so long that what a killed test run leaves is there for ever.
const soLong = 5 * time.Minute

func ready() {
	fmt.Printf("%d\nready\n", os.Getpid())
}

// orphan starts a process whose parent is gone, and passes on what it says through a pipe, so that it can have
// whatever output it likes.
func orphan(attr os.ProcAttr, name string) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	attr.Files = append(attr.Files, w) // as descriptor 3
	attr.Sys = setsid
	start(&attr, "middle", name).Wait()
	w.Close()
	buf := make([]byte, 100)
	n, _ := r.Read(buf)
	fmt.Print(string(buf[:n]))
}

// nastyChildren are those of every system that these tests are for.
func nastyChildren() map[string]func(args []string) {
	devNull, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	silent := []*os.File{devNull, devNull, devNull}
	keepEnv := os.Environ()
	var noEnv = []string{"GORACE=atexit_sleep_ms=0"}
	return map[string]func(args []string){
		// quiet: says its pid on descriptor 3, or else 1, and sleeps, deaf to SIGTERM and SIGHUP.
		"quiet": func([]string) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
			if _, err := fmt.Fprintf(os.NewFile(3, "said"), "%d\n", os.Getpid()); err != nil {
				fmt.Printf("%d\n", os.Getpid())
			}
			time.Sleep(soLong)
		},
		// middle CHILD: the first half of a double fork: starts the child in yet another session, and is gone.
		"middle": func(args []string) {
			said := os.NewFile(3, "said")
			start(&os.ProcAttr{Files: append(inherit[:3:3], said), Env: os.Environ(), Sys: setsid}, args[0])
		},

		"ignores-sigterm": func([]string) {
			signal.Ignore(syscall.SIGTERM)
			ready()
			time.Sleep(soLong)
		},
		"grandchild-ignores-sigterm": func([]string) {
			start(&os.ProcAttr{Files: inherit}, "ignores-sigterm")
			time.Sleep(soLong)
		},
		"setsid": func([]string) {
			start(&os.ProcAttr{Files: inherit, Sys: setsid}, "ignores-sigterm")
			time.Sleep(soLong)
		},
		// A child in a session of its own, with nothing of ours but its parent.
		"setsid-silent-naked": func([]string) {
			r, w, _ := os.Pipe()
			start(&os.ProcAttr{Files: append(silent[:3:3], w), Env: noEnv, Sys: setsid}, "quiet")
			w.Close()
			buf := make([]byte, 100)
			n, _ := r.Read(buf)
			fmt.Print(string(buf[:n]))
			ready()
			time.Sleep(soLong)
		},
		// The classic daemon: found by its environment.
		"daemon": func([]string) {
			orphan(os.ProcAttr{Files: silent, Env: keepEnv}, "quiet")
			ready()
		},
		// With no environment, but with the output: found by that.
		"naked-daemon-with-output": func([]string) {
			orphan(os.ProcAttr{Files: inherit, Env: noEnv}, "quiet")
			ready()
		},
		// With nothing at all: only a cgroup finds it.
		"vanished": func([]string) {
			orphan(os.ProcAttr{Files: silent, Env: noEnv}, "quiet")
			ready()
		},
		"holds-the-output": func([]string) {
			start(&os.ProcAttr{Files: inherit}, "ignores-sigterm")
		},
		// Forks as fast as it can, children that fork in turn.
		"forks": func(args []string) {
			signal.Ignore(syscall.SIGTERM)
			if len(args) == 0 {
				ready()
			}
			for i := range 12 {
				if p, err := os.StartProcess(executable(), childArgs("sleep-silently"), &os.ProcAttr{Files: inherit}); err == nil {
					go p.Wait()
				}
				if i%6 == 0 && len(args) < 2 {
					start(&os.ProcAttr{Files: inherit}, "forks", append(args, "again")...)
				}
			}
			time.Sleep(soLong)
		},
		// Starts a child when it is asked to end, and goes.
		"starts-a-child-on-sigterm": func([]string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM)
			ready()
			<-terminate
			start(&os.ProcAttr{Files: inherit}, "ignores-sigterm")
		},
		"stops-itself": func([]string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM)
			ready()
			go syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			<-terminate // only a process that goes on again hears it
			os.Exit(9)
		},
		// burst: a child holds the output, 64 KiB are written, and it is gone.
		"burst": func([]string) {
			child := start(&os.ProcAttr{Files: inherit, Env: append(keepEnv, "GORACE=atexit_sleep_ms=0")}, "sleep-silently")
			os.Stdout.WriteString(fmt.Sprintf("%10d", child.Pid) + strings.Repeat("x", 64<<10-10))
			syscall.Exit(0)
		},
	}
}
