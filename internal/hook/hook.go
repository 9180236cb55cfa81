// Package hook calls functions of the embedder, which may panic.
package hook

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Panic is the error for a function that panicked. It names the function but omits the value of the panic, which may be
// secret: the error goes to the agent.
type Panic struct{ Function string }

func (e *Panic) Error() string { return "the host's " + e.Function + " function panicked" }

// Call calls f, which calls the embedder's function called name, such as "Policy". If f panics, Call logs the panic
// with its stack and returns a *Panic.
func Call(name string, f func()) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("acpterm: the host's function panicked", "function", name,
				"panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
			err = &Panic{name}
		}
	}()
	f()
	return nil
}
