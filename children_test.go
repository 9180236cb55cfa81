package acpterm_test

// The commands that tests run: the test binary itself, told by its first argument which of these children
// to be.

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
)

// childMark, as the first argument, makes the test binary a child.
const childMark = "acpterm-test-child"

var children = map[string]func(args []string){
	// print TEXT...: writes each argument as it is.
	"print": func(args []string) {
		for _, text := range args {
			fmt.Print(text)
		}
	},
	// exit CODE
	"exit": func(args []string) { os.Exit(number(args[0])) },
	// alternate N: writes N lines, by turns to standard output and standard error.
	"alternate": func(args []string) {
		for i := range number(args[0]) {
			fmt.Fprintf([]*os.File{os.Stdout, os.Stderr}[i%2], "line %d\n", i)
		}
	},
	// sleep: for ever; says "ready" first.
	"sleep": func([]string) {
		fmt.Println("ready")
		time.Sleep(time.Hour) // not select {}, in which Go's runtime may see a deadlock
	},
	// stubborn: ignores SIGTERM; says "ready" first.
	"stubborn": func([]string) {
		ignoreTermination()
		fmt.Println("ready")
		time.Sleep(time.Hour)
	},
	// polite: says "bye" on SIGTERM and exits with 7.
	"polite": func([]string) {
		terminate := make(chan os.Signal, 1)
		signal.Notify(terminate, syscall.SIGTERM, os.Interrupt) // CTRL_BREAK is the latter
		fmt.Println("ready")
		<-terminate
		fmt.Println("bye")
		os.Exit(7)
	},
	// together DIR N: on SIGTERM puts a file into the directory, and exits once there are N.
	"together": func(args []string) {
		terminate := make(chan os.Signal, 1)
		signal.Notify(terminate, syscall.SIGTERM, os.Interrupt) // CTRL_BREAK is the latter
		fmt.Println("ready")
		<-terminate
		os.WriteFile(fmt.Sprintf("%s/%d", args[0], os.Getpid()), nil, 0o600)
		for entries, _ := os.ReadDir(args[0]); len(entries) < number(args[1]); entries, _ = os.ReadDir(args[0]) {
			time.Sleep(time.Millisecond)
		}
	},
	// pieces FILE PIECE...: writes the pieces, waiting for FILE.0, FILE.1 … between them. They are quoted as in Go:
	// on Windows an argument is text, and has no invalid bytes.
	"pieces": func(args []string) {
		for i, piece := range args[1:] {
			if i > 0 {
				awaitFile(fmt.Sprintf("%s.%d", args[0], i-1))
			}
			text, _ := strconv.Unquote(piece)
			os.Stdout.WriteString(text)
		}
	},
	// flood BYTES CHUNK: writes that many bytes, CHUNK at a time.
	"flood": func(args []string) {
		total, chunk := number(args[0]), number(args[1])
		buf := []byte(strings.Repeat("0123456789abcde\n", (chunk+15)/16))[:chunk]
		for total > 0 {
			n, err := os.Stdout.Write(buf[:min(chunk, total)])
			if err != nil {
				os.Exit(1)
			}
			total -= n
		}
	},
	// flood-and-touch BYTES FILE: writes that many bytes, then makes the file.
	"flood-and-touch": func(args []string) {
		os.Stdout.WriteString(strings.Repeat("x", number(args[0])))
		os.WriteFile(args[1], nil, 0o600)
	},
	// environ: writes the environment, a variable a line.
	"environ": func([]string) {
		for _, variable := range os.Environ() {
			fmt.Println(variable)
		}
	},
	// pwd: writes the working directory.
	"pwd": func([]string) {
		dir, _ := os.Getwd()
		fmt.Println(dir)
	},
	// stdin: writes what standard input has, in the end "eof".
	"stdin": func([]string) {
		rest, err := io.ReadAll(os.Stdin)
		fmt.Printf("%q %v eof", rest, err)
	},
	// tty: says whether there is a controlling terminal.
	"tty": func([]string) {
		_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		fmt.Print(err != nil)
	},
	// holder: starts a sleeping child that holds the output, says its pid, and exits.
	"holder": func(args []string) {
		child := startChild("sleep-silently")
		fmt.Printf("%d\n", child)
		os.Stdout.WriteString(strings.Join(args, ""))
	},
	// stubborn-holder: as holder, with a child that ignores SIGTERM.
	"stubborn-holder": func([]string) { fmt.Printf("%d\n", startChild("stubborn-silently")) },
	"sleep-silently":  func([]string) { time.Sleep(5 * time.Minute) },
	"stubborn-silently": func([]string) {
		ignoreTermination()
		os.Stdin.Close()
		time.Sleep(time.Hour)
	},
}

// ignoreTermination makes what asks a process to end have no effect on this one.
func ignoreTermination() {
	signal.Ignore(syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // CTRL_BREAK, which would end a program that ignores it
}

// startChild starts a child that inherits the output, and returns its pid once it is set up: it closes its
// standard input then, which is a pipe's writing end, or by exiting.
func startChild(name string) int {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	process, err := os.StartProcess(executable(), childArgs(name), &os.ProcAttr{
		Files: []*os.File{w, os.Stdout, os.Stderr},
	})
	if err != nil {
		panic(err)
	}
	w.Close()
	if name != "sleep-silently" {
		io.ReadAll(r)
	}
	return process.Pid
}

func childArgs(name string, args ...string) []string {
	return append([]string{executable(), childMark, name}, args...)
}

// childRequest asks for a child in session "s".
func childRequest(name string, args ...string) acpterm.CreateTerminalRequest {
	argv := childArgs(name, args...)
	return acpterm.CreateTerminalRequest{SessionID: "s", Command: argv[0], Args: argv[1:]}
}

// commandRequest asks for a program, or a line, in session "s".
func commandRequest(command string, args ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: "s", Command: command, Args: args}
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func awaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestMain(m *testing.M) {
	maps.Copy(children, systemChildren())
	maps.Copy(children, agentChildren())
	if len(os.Args) > 2 && os.Args[1] == childMark {
		children[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of the race detector's lives a second longer
	os.Exit(m.Run())
}
