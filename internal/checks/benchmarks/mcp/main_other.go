//go:build !linux

package main

import "log"

func main() { log.Fatal("mcp: Linux only: it reads /proc") }
