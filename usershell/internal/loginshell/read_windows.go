package loginshell

// The environment of a new logon on Windows.

import (
	"context"

	"golang.org/x/sys/windows"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Read returns the system's environment for the user's programs after a new logon, merged over Spec.Env. It does not
// start a process, and ignores Spec.Enter. It returns an *Error.
func Read(ctx context.Context, spec Spec) ([]string, error) {
	if ctx.Err() != nil {
		return nil, &Error{Reason: Cancelled, Err: context.Cause(ctx)}
	}
	var token windows.Token
	err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_QUERY|windows.TOKEN_DUPLICATE, &token)
	if err != nil {
		return nil, &Error{Reason: NotStarted, Err: err}
	}
	defer token.Close()
	env, err := token.Environ(false)
	if err != nil {
		return nil, &Error{Reason: NotStarted, Err: err}
	}
	return lookup.Merge(lookup.Key, lookup.Once(lookup.Key, spec.Env), "", env), nil
}

// Locate returns spec.
func Locate(spec Spec) Spec { return spec }
