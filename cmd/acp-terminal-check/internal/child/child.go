// Package child has the commands that the client runs for the checks. They are the kit's own program with a list of
// steps, so that no system needs a shell or another program.
package child

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Mark, as the first argument, makes the program a child. The other arguments are its steps.
const Mark = "-as-command"

const (
	poll = 2 * time.Millisecond
	// longest is the lifetime of a child that the client does not end and whose directory still exists.
	longest = 5 * time.Minute
)

// Step returns a step of a child: a verb from the table below and its argument, if it has one.
func Step(verb string, argument ...any) string {
	if len(argument) == 0 {
		return verb
	}
	return verb + "=" + fmt.Sprint(argument...)
}

// Out returns a step that writes bytes to standard output.
func Out(text string) string { return Step("out", encoded(text)) }

// Err returns a step that writes bytes to standard error.
func Err(text string) string { return Step("err", encoded(text)) }

// Many returns a step that writes a text n times to standard output, in writes of 4 KiB and more.
func Many(text string, n int) string { return Step("many", n, ":", encoded(text)) }

// Spawn returns steps that start a process with its own steps. It inherits the output, and no one waits for it.
func Spawn(steps ...string) []string {
	return slices.Concat([]string{"spawn", spawnBegin}, steps, []string{spawnEnd})
}

const spawnBegin, spawnEnd = "{", "}"

// Main runs the child with these steps. It does not return.
func Main(steps []string) {
	for i := 0; i < len(steps); i++ {
		verb, argument, _ := strings.Cut(steps[i], "=")
		if verb == "args" { // args: writes the remaining arguments as JSON
			writeJSON(steps[i+1:])
			break
		}
		if verb == "spawn" { // spawn: its steps follow in braces
			length := slices.Index(steps[i:], spawnEnd)
			if length < 2 {
				os.Exit(95)
			}
			spawn(steps[i+2 : i+length])
			i += length
			continue
		}
		do, ok := verbs()[verb]
		if !ok {
			fmt.Fprintf(os.Stderr, "there is no step %q\n", verb)
			os.Exit(99)
		}
		do(argument)
	}
	os.Exit(0)
}

// verbs returns the steps. The argument of a file step is its path.
func verbs() map[string]func(string) {
	return map[string]func(string){
		"out":  func(text string) { os.Stdout.Write(decoded(text)) },
		"err":  func(text string) { os.Stderr.Write(decoded(text)) },
		"many": writeMany,
		"exit": func(code string) { os.Exit(number(code)) },
		// lock: holds the lock of a file while the process lives.
		"lock": func(path string) { hold(path) },
		// await: waits for a file.
		"await": func(path string) { await(path) },
		// touch: creates a file.
		"touch": func(path string) { os.WriteFile(path, nil, 0o600) },
		// deaf: makes the process ignore requests to end.
		"deaf": func(string) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			signal.Notify(make(chan os.Signal, 1), os.Interrupt) // CTRL_BREAK, which ends a program that ignores it
		},
		// tidy: on the first SIGTERM, creates a file and ends.
		"tidy": func(path string) {
			terminate := make(chan os.Signal, 1)
			signal.Notify(terminate, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			go func() {
				<-terminate
				os.WriteFile(path, nil, 0o600)
				os.Exit(0)
			}()
		},
		// stdin: reads standard input to its end, and writes the number of bytes.
		"stdin": func(string) {
			n, _ := io.Copy(io.Discard, os.Stdin)
			fmt.Print(n)
		},
		// env: writes a variable as JSON, or null if it is not set.
		"env": func(name string) {
			if value, ok := os.LookupEnv(name); ok {
				writeJSON(value)
			} else {
				writeJSON(nil)
			}
		},
		// dir: writes the working directory as JSON.
		"dir": func(string) {
			dir, _ := os.Getwd()
			writeJSON(dir)
		},
		// signal: ends by SIGTERM, where signals exist.
		"signal": func(string) { endBySignal() },
	}
}

func writeMany(argument string) {
	count, argument, _ := strings.Cut(argument, ":")
	text, n := decoded(argument), number(count)
	block := bytes.Repeat(text, 4096/len(text)+1)
	for left := n * len(text); left > 0; left -= len(block) {
		if _, err := os.Stdout.Write(block[:min(left, len(block))]); err != nil {
			os.Exit(1)
		}
	}
}

func spawn(steps []string) {
	self, err := os.Executable()
	if err == nil {
		_, err = os.StartProcess(self, append([]string{self, Mark}, steps...), &os.ProcAttr{
			Files: []*os.File{nil, os.Stdout, os.Stderr},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
}

// await returns when the file exists. The process ends if the file's directory is gone, because then the kit is gone
// too.
func await(path string) {
	for start := time.Now(); time.Since(start) < longest; time.Sleep(poll) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			break
		}
	}
	os.Exit(97)
}

// hold locks a file. The system releases the lock when the process has ended, however it ends.
func hold(path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	for ; err == nil; time.Sleep(poll) { // Held may hold it for a moment
		if tryLock(file) {
			time.AfterFunc(longest, func() { // which also prevents the file from being collected and closed
				file.Close()
				os.Exit(97)
			})
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(96)
}

// Held reports whether a living child holds the lock of a file.
func Held(path string) bool {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return !tryLock(file)
}

func writeJSON(value any) {
	json.NewEncoder(os.Stdout).Encode(value)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		os.Exit(94)
	}
	return n
}
