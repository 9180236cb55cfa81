//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "soak: Linux only: it reads /proc")
	os.Exit(2)
}
