package procfs

import "golang.org/x/sys/unix"

const knowsSyscalls = true

func isOldPoll(call uint64) bool   { return call == unix.SYS_POLL }
func isOldSelect(call uint64) bool { return call == unix.SYS_SELECT }
func isOldEpoll(call uint64) bool  { return call == unix.SYS_EPOLL_WAIT }
