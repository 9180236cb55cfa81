package mcpserver

// Progress: the latest lines of the output while a call waits.

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

const (
	// progressInterval is how often new output is reported.
	progressInterval = 500 * time.Millisecond
	// progressIdle is how often progress is reported without new output. Some clients give up on silent calls.
	progressIdle = 10 * time.Second
	// progressText is the most bytes of output in a report.
	progressText = 1 << 10
)

// report sends progress notifications about a terminal until stop is called, if the client asked for them. No
// notification follows stop.
func report(ctx context.Context, req *mcp.CallToolRequest, t *acpterm.Terminal) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var reporting sync.WaitGroup
	reporting.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		begin, sent, reported := time.Now(), time.Now(), int64(0)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if total := t.OutputTotal(); total != reported || time.Since(sent) >= progressIdle {
				reported, sent = total, time.Now()
				latest := readOutput(t, max(0, total-2*progressText), progressText, showEnd, nil)
				req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: time.Since(begin).Seconds(), Message: latest.text,
				})
			}
		}
	})
	return func() { cancel(); reporting.Wait() }
}
