//go:build !linux

package capture

import "time"

// readBatched pauses, so that more output arrives before the next read.
func (*Reader) readBatched() { time.Sleep(pauseTime) }
