package acpterm

import "golang.org/x/sys/unix"

// noteExitStatus makes kqueue's exit event carry the wait status; macOS must be asked for it.
const noteExitStatus = unix.NOTE_EXITSTATUS
