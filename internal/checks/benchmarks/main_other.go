//go:build !linux

package main

import "log"

func main() { log.Fatal("benchmarks: Linux only: it reads /proc") }
