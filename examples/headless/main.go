// Headless runs agents without a user at a screen: many in one process, each in its own session, under rules, limits
// and quotas, and it records everything they run. docs/embedding-a-headless-host.md explains it.
//
//	go run ./examples/headless -state DIR -rules FILE [-cgroup DIR] [-sandbox] < JOBS
//
// A job is a line of JSON, such as
//
//	{"name": "fix-1", "dir": "/work/fix-1", "agent": ["some-agent", "--acp"], "prompt": "…", "env": {"CI": "1"}}
//
// and its result is a line on standard output. It has the stop reason of the turn, or an error, and the denied commands
// with the rules that denied them. After an error it also has how the agent ended and the last lines of its standard
// error. The directory sample has jobs and rules. SIGTERM and an interrupt end everything: gracefully for ten seconds,
// then by force.
package main

import (
	"bufio"
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

// grace is how long an agent's commands have to end, all together.
const grace = 10 * time.Second

// maxJobs is the number of agents that run concurrently.
const maxJobs = 16

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
func serve(c config, jobs io.Reader, results io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	h, err := newHost(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(h.runAll(ctx, jobs, results), h.audit.Close())
}

// runAll runs jobs as they arrive. It returns when all have ended. When ctx is done, the running ones are cancelled.
func (h *host) runAll(ctx context.Context, jobs io.Reader, results io.Writer) error {
	var busy sync.WaitGroup
	var writing sync.Mutex
	encoder := json.NewEncoder(results)
	slots := make(chan struct{}, maxJobs)
	lines := bufio.NewScanner(jobs)
	for ctx.Err() == nil && lines.Scan() {
		var j job
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			busy.Wait()
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
	busy.Wait()
	return lines.Err()
}
