//go:build linux || darwin || freebsd

package children

// The nasty children: things that commands do, by accident or not, that leave processes behind. Each prints the pids
// that must be gone, one per line, and "ready" when everything is set up.

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
	process, err := os.StartProcess(Program(), Args(name, args...), attr)
	if err != nil {
		panic(err)
	}
	return process
}

var (
	inherit = []*os.File{os.Stdin, os.Stdout, os.Stderr}
	setsid  = &syscall.SysProcAttr{Setsid: true}
)

// SoLong is longer than any test. Processes left by a killed test run end after this time.
const SoLong = 5 * time.Minute

// Ready prints the process's number, and "ready".
func Ready() {
	fmt.Printf("%d\nready\n", os.Getpid())
}

// orphan starts a process whose parent is gone, and passes on its message from a pipe, so that it can have any output.
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

// nasty returns the children of the systems supported by these tests.
func nasty() map[string]func(args []string) {
	devNull, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	silent := []*os.File{devNull, devNull, devNull}
	keepEnv := os.Environ()
	var noEnv = []string{"GORACE=atexit_sleep_ms=0"}
	return map[string]func(args []string){
		// size: writes stty's terminal size, and again each time it changes.
		"size": func([]string) {
			changed := make(chan os.Signal, 1)
			signal.Notify(changed, syscall.SIGWINCH)
			for {
				process, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "stty size"}, &os.ProcAttr{Files: inherit})
				if err != nil {
					panic(err)
				}
				process.Wait()
				<-changed
			}
		},
		// pty-holder BYTES: starts a process in a new session that keeps the terminal open, writes that many bytes, and
		// exits.
		"pty-holder": func(args []string) {
			start(&os.ProcAttr{Files: inherit, Sys: setsid}, "sleep-silently")
			os.Stdout.WriteString(strings.Repeat("x", Number(args[0])))
		},
		// quiet: prints its pid on descriptor 3, or else 1, and sleeps, ignoring SIGTERM and SIGHUP.
		"quiet": func([]string) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
			if _, err := fmt.Fprintf(os.NewFile(3, "said"), "%d\n", os.Getpid()); err != nil {
				fmt.Printf("%d\n", os.Getpid())
			}
			time.Sleep(SoLong)
		},
		// middle CHILD: the first half of a double fork: starts the child in yet another session, and exits.
		"middle": func(args []string) {
			said := os.NewFile(3, "said")
			start(&os.ProcAttr{Files: append(inherit[:3:3], said), Env: os.Environ(), Sys: setsid}, args[0])
		},

		"ignores-sigterm": func([]string) {
			signal.Ignore(syscall.SIGTERM)
			Ready()
			time.Sleep(SoLong)
		},
		"grandchild-ignores-sigterm": func([]string) {
			start(&os.ProcAttr{Files: inherit}, "ignores-sigterm")
			time.Sleep(SoLong)
		},
		"setsid": func([]string) {
			start(&os.ProcAttr{Files: inherit, Sys: setsid}, "ignores-sigterm")
			time.Sleep(SoLong)
		},
		// A child in a new session that shares nothing with this process but the parent.
		"setsid-silent-naked": func([]string) {
			r, w, _ := os.Pipe()
			start(&os.ProcAttr{Files: append(silent[:3:3], w), Env: noEnv, Sys: setsid}, "quiet")
			w.Close()
			buf := make([]byte, 100)
			n, _ := r.Read(buf)
			fmt.Print(string(buf[:n]))
			Ready()
			time.Sleep(SoLong)
		},
		// The classic daemon: found by its environment.
		"daemon": func([]string) {
			orphan(os.ProcAttr{Files: silent, Env: keepEnv}, "quiet")
			Ready()
		},
		// It has no environment, but has the output, which identifies it.
		"naked-daemon-with-output": func([]string) {
			orphan(os.ProcAttr{Files: inherit, Env: noEnv}, "quiet")
			Ready()
		},
		// It has neither: only a cgroup finds it.
		"vanished": func([]string) {
			orphan(os.ProcAttr{Files: silent, Env: noEnv}, "quiet")
			Ready()
		},
		"holds-the-output": func([]string) {
			start(&os.ProcAttr{Files: inherit}, "ignores-sigterm")
		},
		// Forks as fast as it can, and its children fork too.
		"forks": func(args []string) {
			signal.Ignore(syscall.SIGTERM)
			if len(args) == 0 {
				Ready()
			}
			for i := range 12 {
				if p, err := os.StartProcess(Program(), Args("sleep-silently"), &os.ProcAttr{Files: inherit}); err == nil {
					go p.Wait()
				}
				if i%6 == 0 && len(args) < 2 {
					start(&os.ProcAttr{Files: inherit}, "forks", append(args, "again")...)
				}
			}
			time.Sleep(SoLong)
		},
		// Starts a child when it is asked to end, and exits.
		"starts-a-child-on-sigterm": func([]string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM)
			Ready()
			<-terminate
			start(&os.ProcAttr{Files: inherit}, "ignores-sigterm")
		},
		"stops-itself": func([]string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM)
			Ready()
			go syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			<-terminate // only a continued process receives it
			os.Exit(9)
		},
		// burst: starts a child that holds the output, writes 64 KiB, and exits immediately.
		"burst": func([]string) {
			child := start(&os.ProcAttr{Files: inherit, Env: append(keepEnv, "GORACE=atexit_sleep_ms=0")}, "sleep-silently")
			os.Stdout.WriteString(fmt.Sprintf("%10d", child.Pid) + strings.Repeat("x", 64<<10-10))
			syscall.Exit(0)
		},
		// append-to FILE BYTES: writes that many bytes, and prints the error.
		"append-to": func(args []string) {
			err := os.WriteFile(args[0], make([]byte, Number(args[1])), 0o600)
			fmt.Print(err)
		},
		// open-all: opens files until it fails, and prints the number of the last one.
		"open-all": func([]string) {
			last := -1
			for {
				fd, err := syscall.Open("/", syscall.O_RDONLY, 0)
				if err != nil {
					fmt.Print(last, " ", err)
					return
				}
				last = fd
			}
		},
	}
}
