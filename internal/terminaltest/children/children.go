// Package children provides the commands run by tests. A program that calls Main becomes the child named by its
// arguments. Only tests import it.
package children

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Mark, as the first argument, makes the program a child.
const Mark = "acpterm-test-child"

// Main runs the child named by the arguments, one of All or more, and then does not return. Otherwise it does nothing.
func Main(more map[string]func(args []string)) {
	if len(os.Args) < 3 || os.Args[1] != Mark {
		return
	}
	all := All()
	maps.Copy(all, more)
	all[os.Args[2]](os.Args[3:])
	os.Exit(0)
}

// All returns the children by name: those of every system, and this system's.
func All() map[string]func(args []string) {
	all := portable()
	maps.Copy(all, nasty())
	return all
}

func echo() {
	signalled := make(chan os.Signal, 1)
	signal.Notify(signalled, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signalled
		os.Exit(9)
	}()
	io.Copy(os.Stdout, os.Stdin)
	fmt.Print("bye")
	os.Exit(3)
}

// portable returns the children of every system.
func portable() map[string]func(args []string) {
	return map[string]func(args []string){
		// print TEXT...: writes each argument unchanged.
		"print": func(args []string) {
			for _, text := range args {
				fmt.Print(text)
			}
		},
		// bytes TEXT: writes a text whose escapes, such as \xff, are bytes as in Go.
		"bytes": func(args []string) {
			text, _ := strconv.Unquote(`"` + args[0] + `"`)
			os.Stdout.WriteString(text)
		},
		// getenv NAME: writes the value of a variable.
		"getenv": func(args []string) { fmt.Print(os.Getenv(args[0])) },
		// exit CODE
		"exit": func(args []string) { os.Exit(Number(args[0])) },
		// alternate N: writes N lines, alternating between standard output and standard error.
		"alternate": func(args []string) {
			for i := range Number(args[0]) {
				fmt.Fprintf([]*os.File{os.Stdout, os.Stderr}[i%2], "line %d\n", i)
			}
		},
		// echo: copies its input to its output, then writes "bye" and exits with 3; exits with 9 on SIGTERM.
		"echo": func([]string) { echo() },
		// echo-with CHILD: starts a child, writes its pid, and continues as echo.
		"echo-with": func(args []string) {
			fmt.Println(StartSilent(args[0]))
			echo()
		},
		// listen: listens on a port of loopback until it has a connection, and prints nothing.
		"listen": func([]string) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			listener.Accept()
		},
		// sleep: prints "ready" and sleeps until it is ended.
		"sleep": func([]string) {
			fmt.Println("ready")
			time.Sleep(time.Hour) // not select {}, in which Go's runtime may see a deadlock
		},
		// stubborn: prints "ready" and ignores SIGTERM.
		"stubborn": func([]string) {
			ignoreTermination()
			fmt.Println("ready")
			time.Sleep(time.Hour)
		},
		// polite: on SIGTERM prints "bye" and exits with 7.
		"polite": func([]string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM, os.Interrupt) // CTRL_BREAK is the latter
			fmt.Println("ready")
			<-terminate
			fmt.Println("bye")
			os.Exit(7)
		},
		// together DIR N: on SIGTERM puts a file into the directory, and exits once it contains N files.
		"together": func(args []string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM, os.Interrupt) // CTRL_BREAK is the latter
			fmt.Println("ready")
			<-terminate
			os.WriteFile(fmt.Sprintf("%s/%d", args[0], os.Getpid()), nil, 0o600)
			for entries, _ := os.ReadDir(args[0]); len(entries) < Number(args[1]); entries, _ = os.ReadDir(args[0]) {
				time.Sleep(time.Millisecond)
			}
		},
		// pieces FILE PIECE...: writes the pieces, and waits for FILE.0, FILE.1 … between them. They are quoted as in
		// Go: on Windows an argument is text, and cannot contain invalid bytes.
		"pieces": func(args []string) {
			for i, piece := range args[1:] {
				if i > 0 {
					AwaitFile(fmt.Sprintf("%s.%d", args[0], i-1))
				}
				text, _ := strconv.Unquote(piece)
				os.Stdout.WriteString(text)
			}
		},
		// flood BYTES CHUNK: writes that many bytes, CHUNK at a time.
		"flood": func(args []string) {
			total, chunk := Number(args[0]), Number(args[1])
			buf := []byte(strings.Repeat("0123456789abcde\n", (chunk+15)/16))[:chunk]
			for total > 0 {
				n, err := os.Stdout.Write(buf[:min(chunk, total)])
				if err != nil {
					os.Exit(1)
				}
				total -= n
			}
		},
		// flood-and-touch BYTES FILE: writes that many bytes, then creates the file.
		"flood-and-touch": func(args []string) {
			os.Stdout.WriteString(strings.Repeat("x", Number(args[0])))
			os.WriteFile(args[1], nil, 0o600)
		},
		// environ: writes the environment, one variable per line.
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
		// stdin: writes the contents of standard input, then "eof".
		"stdin": func([]string) {
			rest, err := io.ReadAll(os.Stdin)
			fmt.Printf("%q %v eof", rest, err)
		},
		// tty: prints true if it has no controlling terminal, and otherwise false.
		"tty": func([]string) {
			_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
			fmt.Print(err != nil)
		},
		// holder: starts a sleeping child that holds the output, prints its pid, and exits.
		"holder": func(args []string) {
			child := StartSilent("sleep-silently")
			fmt.Printf("%d\n", child)
			os.Stdout.WriteString(strings.Join(args, ""))
		},
		// family: starts a child that ignores SIGTERM, prints "ready" and its pid, and sleeps.
		"family": func([]string) {
			fmt.Println("ready", StartSilent("stubborn-silently"))
			time.Sleep(time.Hour)
		},
		// stubborn-holder: like holder, with a child that ignores SIGTERM.
		"stubborn-holder": func([]string) { fmt.Printf("%d\n", StartSilent("stubborn-silently")) },
		// leave-behind FILE...: starts wait-for without any output, and exits.
		"leave-behind": func(files []string) { startWithoutOutput("wait-for", files...) },
		// wait-for FILE...: creates FILE.awaited, waits for the first file, leaves the others behind, and exits.
		"wait-for": func(files []string) {
			os.WriteFile(files[0]+".awaited", nil, 0o600)
			if AwaitFile(files[0]); len(files) > 1 {
				startWithoutOutput("wait-for", files[1:]...)
			}
		},
		"sleep-silently": func([]string) { time.Sleep(5 * time.Minute) },
		"stubborn-silently": func([]string) {
			ignoreTermination()
			os.Stdin.Close()
			time.Sleep(time.Hour)
		},
	}
}

// ignoreTermination makes this process ignore requests to end.
func ignoreTermination() {
	signal.Ignore(syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // CTRL_BREAK, which would end a program that ignores it
}

// StartSilent starts a child that inherits the output, and returns its pid once it is set up. The child signals that by
// closing its standard input, the write end of a pipe, or by exiting.
func StartSilent(name string) int {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	process, err := os.StartProcess(Program(), Args(name), &os.ProcAttr{
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

func startWithoutOutput(name string, args ...string) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		_, err = os.StartProcess(Program(), Args(name, args...), &os.ProcAttr{Files: []*os.File{null, null, null}})
	}
	if err != nil {
		panic(err)
	}
}

// Args returns the command line that makes this program a child.
func Args(name string, args ...string) []string {
	return append([]string{Program(), Mark, name}, args...)
}

// Program returns the path of this program.
func Program() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// Number parses a decimal number. It panics if the text is not a number.
func Number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// AwaitFile returns when the file exists.
func AwaitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
