package main

// The floor of running a command: start it, wait for it, and nothing else. In this process, and as one that is asked for
// it in lines.

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// startAndWait keeps nothing of the output, which goes nowhere.
func startAndWait(c command, _ int) (int64, error) {
	path, err := exec.LookPath(c.path)
	if err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	process, err := os.StartProcess(path, append([]string{c.path}, c.args...), &os.ProcAttr{Files: []*os.File{null, null, null}})
	if err != nil {
		return 0, err
	}
	_, err = process.Wait()
	return 0, err
}

// serveStarts: runs a command so, as many times as a line says and as many at once, and answers with a line.
func serveStarts([]string) error {
	stdin, stdout := pollableStdio()
	for lines := bufio.NewScanner(stdin); lines.Scan(); fmt.Fprintln(stdout, "done") {
		var times, atOnce int
		if _, err := fmt.Sscan(lines.Text(), &times, &atOnce); err != nil {
			return err
		}
		tickets := make(chan struct{}, times)
		for range times {
			tickets <- struct{}{}
		}
		close(tickets)
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				for range tickets {
					startAndWait(trueCommand(), 0)
				}
			})
		}
		all.Wait()
	}
	return nil
}
