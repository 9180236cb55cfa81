//go:build unix

package view_test

import "syscall"

// limitDescriptors has this process open fewer files than most do.
func limitDescriptors() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	limit.Cur = min(96, limit.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
}
