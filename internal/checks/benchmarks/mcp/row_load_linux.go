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

func manyAtOnce(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	const times = 50
	var all sync.WaitGroup
	errs := make([]error, times)
	began := time.Now()
	for n := range times {
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
	took := time.Since(began)
	failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(failed) > 0 {
		return fmt.Sprintf("%s, %d errors (%s)", round(took), len(failed), failed[0]), nil
	}
	return round(took) + ", no errors", nil
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
