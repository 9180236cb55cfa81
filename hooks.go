package acpterm

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// callHook calls f, which calls the embedder's function of that name, such as "Policy". If f panics, callHook logs the
// panic with its stack and returns an *Error of kind ErrInternal, which names the function and not the panic's value:
// the value may be secret, and the error goes to the agent.
func callHook(name string, f func()) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("acpterm: the host's function panicked", "function", name,
				"panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
			err = &Error{Kind: ErrInternal, Reason: "the host's " + name + " function panicked"}
		}
	}()
	f()
	return nil
}
