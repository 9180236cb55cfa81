//go:build !linux

package main

// The machine, elsewhere.

import "runtime"

func cpuModel() string { return runtime.GOARCH }

func kernel() string { return runtime.GOOS }
