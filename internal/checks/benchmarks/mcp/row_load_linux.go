package main

// Load: many commands at once, memory.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

func loadRows() []row {
	return []row{
		{"50 commands of 0.2 s at once", manyAtOnce},
		{"memory: idle; after 5 MB; after 100 MB; the most", memoryUse},
	}
}

// manyAtOnce returns the median of several rounds, because other work on the machine can double the time of one.
func manyAtOnce(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	var took []time.Duration
	var failed []error
	for range c.Of(9, 1) {
		began := time.Now()
		failed = append(failed, fiftyAtOnce(c, r)...)
		took = append(took, time.Since(began))
	}
	text := round(part(took, 0.5))
	if len(failed) > 0 {
		return fmt.Sprintf("%s, %d of %d failed (%s)", text, len(failed), len(took)*fifty, failed[0]), nil
	}
	return text + ", no errors", nil
}

const fifty = 50

// fiftyAtOnce runs commands at once, and returns their errors.
func fiftyAtOnce(c *cellOf, r *running) []error {
	var all sync.WaitGroup
	errs := make([]error, fifty)
	for n := range fifty {
		all.Go(func() {
			a, err := r.run(c, c.marked(fmt.Sprintf("sleep 0.2; echo result-$((%d*7))-", n)))
			if want := fmt.Sprintf("result-%d-", n*7); err == nil && !strings.Contains(a.text, want) {
				var text string
				if text, _, err = r.all(c, a); err == nil && !strings.Contains(text, want) {
					err = errors.New("output is lost")
				}
			}
			errs[n] = err
		})
	}
	all.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// answerLimit is how long the server may take for each part of memoryUse.
const answerLimit = time.Minute

func memoryUse(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	texts := make([]string, 0, 4)
	for _, bytes := range []int{0, 5 << 20, c.Of(100<<20, 10<<20)} {
		note := ""
		if bytes > 0 {
			ctx, cancel := context.WithTimeout(c, answerLimit)
			_, err := r.run(ctx, c.marked(self("write", bytes/lineSize, c.dir+"/finished")))
			cancel()
			if errors.Is(err, context.DeadlineExceeded) && c.Err() == nil {
				note = fmt.Sprintf(" (no answer in %s)", round(answerLimit))
			} else if err != nil {
				return "", err
			}
		}
		time.Sleep(time.Second)
		now, err := bench.ProcField(r.process.Pid, "status", "VmRSS")
		if err != nil {
			return "", err
		}
		texts = append(texts, size(now)+note)
	}
	most, err := bench.ProcField(r.process.Pid, "status", "VmHWM")
	return strings.Join(append(texts, size(most)), "; "), err
}
