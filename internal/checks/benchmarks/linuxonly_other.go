//go:build !linux

package main

// Rows that only run on Linux are empty on other systems. They need /proc, or a clock shared by all processes.

import "time"

const linuxOnly = "Linux only"

func exitRows() []row { return []row{{name: "exit to the wait's reply", without: linuxOnly}} }
func idleRows() []row { return []row{{name: "500 idle terminals", without: linuxOnly}} }
func releaseRows() []row {
	return []row{{name: "release of 500 terminals at once", without: linuxOnly}}
}
func killRows() []row                   { return []row{{name: "kill of a tree of three", without: linuxOnly}} }
func configurationRows() []row          { return nil }
func scaleRows() []row                  { return nil }
func configurations() map[string]client { return nil }

// linuxChildren returns the children that only exist on Linux.
func linuxChildren() map[string]func(args []string) error { return nil }

func keepDescriptors() {}

// cpuOf always fails: only Linux reports this time to the microsecond.
func cpuOf(int) (used time.Duration, ok bool) { return 0, false }
