//go:build linux && !amd64

package procfs

import "runtime"

// knowsSyscalls is false where the kernel also has older calls that wait for files than those in awaits_linux.go.
const knowsSyscalls = runtime.GOARCH == "arm64" || runtime.GOARCH == "riscv64" || runtime.GOARCH == "loong64"

func isOldPoll(uint64) bool   { return false }
func isOldSelect(uint64) bool { return false }
func isOldEpoll(uint64) bool  { return false }
