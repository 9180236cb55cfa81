//go:build !linux

package capture

import "time"

// readBatched pauses, so that more comes before the next read.
func (*Reader) readBatched() { time.Sleep(pauseTime) }
