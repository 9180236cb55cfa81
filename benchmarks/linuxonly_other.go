//go:build !linux

package main

// The rows that are for Linux alone, elsewhere: they need /proc, or a clock that all processes share.

import "time"

const linuxOnly = "Linux only"

func exitRows() []row { return []row{{name: "exit to the wait's reply", without: linuxOnly}} }
func idleRows() []row { return []row{{name: "500 idle terminals", without: linuxOnly}} }
func killRows() []row { return []row{{name: "kill of a tree of three", without: linuxOnly}} }

// linuxChildren are the children that are for Linux alone.
func linuxChildren() map[string]func(args []string) error { return nil }

func keepDescriptors() {}

// cpuOf has no answer: on Linux alone is there one to the microsecond.
func cpuOf(int) (used time.Duration, ok bool) { return 0, false }
