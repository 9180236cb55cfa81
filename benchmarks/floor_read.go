package main

// The floor of capturing output: a loop that reads a pipe and keeps nothing; and one that reads into as much memory as is
// to be kept, round and round, which is what the processor's caches make of that.

import (
	"errors"
	"io"
	"os"
)

const readSize = 64 << 10 // what a pipe holds

func readAndDiscard(c command, _ int) (int64, error) { return readInto(make([]byte, readSize), c) }

func readAround(c command, limit int) (int64, error) { return readInto(make([]byte, limit), c) }

// readInto reads a command's output into memory whose size is a multiple of readSize.
func readInto(memory []byte, c command) (int64, error) {
	cmd := c.cmd()
	out, in, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd.Stdout = in
	err = cmd.Start()
	in.Close()
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for at := 0; err == nil; {
		var n int
		n, err = out.Read(memory[at:min(at+readSize, len(memory))])
		at = (at + n) % len(memory)
		total += int64(n)
	}
	if err == io.EOF {
		err = nil
	}
	return total, errors.Join(err, cmd.Wait())
}
