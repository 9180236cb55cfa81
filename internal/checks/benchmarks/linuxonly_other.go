//go:build !linux

package main

// Rows that only run on Linux do not exist on other systems. They need /proc, or a clock shared by all processes.

import "time"

func exitRows() []row                   { return nil }
func idleRows() []row                   { return nil }
func releaseRows() []row                { return nil }
func killRows() []row                   { return nil }
func configurationRows() []row          { return nil }
func scaleRows() []row                  { return nil }
func configurations() map[string]client { return nil }

// linuxChildren returns the children that only exist on Linux.
func linuxChildren() map[string]func(args []string) error { return nil }

func keepDescriptors() {}

// cpuOf always fails: only Linux reports this time to the microsecond.
func cpuOf(int) (used time.Duration, ok bool) { return 0, false }
