//go:build unix

package view_test

import "syscall"

// limitDescriptors lowers this process's limit of open files.
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
