// Headless runs agents without a user at a screen: many in one process, each in its own session, under rules, limits
// and quotas, and it records everything they run. docs/embedding-a-headless-host.md explains it.
//
//	go run ./examples/headless -state DIR -rules FILE [-cgroup DIR] [-sandbox] < JOBS
//
// A job is a line of JSON, and its result a line on standard output: the directory sample has jobs and rules. SIGTERM and
// an interrupt end everything, gracefully for ten seconds and then by force. Read on in host.go and job.go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	grace   = 10 * time.Second // for the commands of an agent to end, all together
	maxJobs = 16               // agents that run concurrently
)

const usage = `usage: headless -state DIR -rules FILE [-cgroup DIR] [-sandbox] < JOBS

Runs agents without a user. A job is a line of JSON on standard input, and its result a line on standard output.

  headless -state state -rules rules.json < jobs.jsonl
  headless -state state -rules rules.json -sandbox < jobs.jsonl
  headless -state state -rules examples/headless/sample/rules.json < examples/headless/sample/jobs.jsonl

`

func main() {
	var c config
	flag.StringVar(&c.state, "state", "", "the `directory` for the journal and the audit file")
	flag.StringVar(&c.rules, "rules", "", "a `file` of rules, as JSON, for commands that may run")
	flag.StringVar(&c.cgroup, "cgroup", "", "a cgroup v2 `directory` in which this process may create others")
	flag.BoolVar(&c.sandbox, "sandbox", false, "run commands with bubblewrap")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := serve(c, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "headless:", err)
		os.Exit(1)
	}
}

// serve runs all jobs concurrently, until they have ended or the process is told to end.
func serve(c config, jobs io.Reader, results io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h, err := newHost(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.audit.Close()) }() // after the last command
	var busy sync.WaitGroup
	defer busy.Wait()
	var writing sync.Mutex
	encoder := json.NewEncoder(results)
	slots := make(chan struct{}, maxJobs)
	for lines := json.NewDecoder(jobs); ctx.Err() == nil && lines.More(); {
		var j job
		if err := lines.Decode(&j); err != nil {
			return fmt.Errorf("this is not a job: %w", err)
		}
		slots <- struct{}{}
		busy.Go(func() {
			defer func() { <-slots }()
			r := h.run(ctx, j)
			writing.Lock()
			defer writing.Unlock()
			encoder.Encode(r)
		})
	}
	return nil
}
