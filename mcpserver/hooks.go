package mcpserver

// Calls of the host's functions, which may panic.

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// callHost calls f, which calls the host's function called name. It logs a panic with its stack, and returns an error
// without the value of the panic, which may be secret: the agent gets the error.
func callHost(name string, f func()) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("acpterm: the host's function panicked", "function", name,
				"panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
			err = fmt.Errorf("the host's %s function panicked", name)
		}
	}()
	f()
	return nil
}
