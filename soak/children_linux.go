package main

// The commands run by the soak, except those of trees.sh: this program itself.

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// children returns the children by name. "soak children NAME" runs one of them.
func children() map[string]func(args []string) {
	return map[string]func(args []string){
		"burst":     burstChild,
		"words":     wordsChild,
		"hold":      func([]string) { time.Sleep(time.Minute) },
		"busy":      busyChild,
		"strangers": strangersChild,
	}
}

func child(name string, args []string) {
	f := children()[name]
	if f == nil {
		fmt.Fprintln(os.Stderr, "soak: no child", name)
		os.Exit(2)
	}
	f(args)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak: child:", err)
		os.Exit(3)
	}
}

// text returns the output of a burst: size bytes, distinguished from others by the seed.
func text(seed, size int, broken bool) []byte {
	b := make([]byte, 0, size+24)
	for len(b) < size {
		b = fmt.Appendf(b, "%08x %d\n", len(b), seed)
	}
	b = b[:size]
	if broken && size > 0 {
		b[size-1] = 0xe2 // the first byte of a three-byte character
	}
	return b
}

// writePieces writes in pieces of random sizes.
func writePieces(b []byte, seed int) {
	rnd := rand.New(rand.NewPCG(uint64(seed), 1))
	for len(b) > 0 {
		n := min(len(b), 1+rnd.IntN(64<<10))
		_, err := os.Stdout.Write(b[:n])
		check(err)
		b = b[n:]
	}
}

// burstChild MANNER SEED SIZE BROKEN WORDS writes SIZE bytes and ends.
func burstChild(args []string) {
	manner, seed, size, words := args[0], number(args[1]), number(args[2]), args[4]
	b := text(seed, size, args[3] == "true")
	switch manner {
	case "exit":
		writePieces(b, seed)
	case "signal":
		writePieces(b, seed)
		syscall.Kill(os.Getpid(), []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[seed%2])
		time.Sleep(time.Minute)
	case "held":
		check(self("hold").Start())
		writePieces(b, seed)
	case "widened":
		unix.FcntlInt(1, unix.F_SETPIPE_SZ, 1<<20)
		_, err := os.Stdout.Write(b)
		check(err)
	case "words":
		background := self("words", args[1], words)
		ready, theirs, err := os.Pipe()
		check(err)
		background.ExtraFiles = []*os.File{theirs}
		check(background.Start())
		theirs.Close()
		io.ReadAll(ready)
		writePieces(b, seed)
	case "ended":
		terminate := make(chan os.Signal, 1)
		signal.Notify(terminate, syscall.SIGTERM)
		writePieces(b, seed)
		<-terminate
		writePieces(text(seed+1, number(words), false), seed)
	default:
		check(fmt.Errorf("no manner %s", manner))
	}
}

// wordsChild SEED SIZE closes descriptor 3 when it is ready, and writes its last words on SIGTERM.
func wordsChild(args []string) {
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	syscall.Close(3)
	select {
	case <-terminate:
		writePieces(text(number(args[0])+1, number(args[1]), false), 1)
	case <-time.After(time.Minute):
	}
}

// self returns a child with this process's standard output.
func self(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(executable(), append([]string{"children", name}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// busyChild uses a processor until its standard input ends.
func busyChild([]string) {
	go func() {
		io.ReadAll(os.Stdin)
		os.Exit(0)
	}()
	for n := 0; ; n++ {
		if n < 0 {
			return
		}
	}
}

// load starts processes that use the processors. stop ends them.
func load(n int) (stop func()) {
	var started []*exec.Cmd
	var ends []io.Closer
	for range n {
		cmd := exec.Command(executable(), "children", "busy")
		stdin, err := cmd.StdinPipe()
		check(err)
		check(cmd.Start())
		started, ends = append(started, cmd), append(ends, stdin)
	}
	return func() {
		for i, cmd := range started {
			ends[i].Close()
			cmd.Wait() // which fails where another goroutine reaps
		}
	}
}
