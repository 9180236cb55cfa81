package loginshell

// The environment of a new logon on Windows.

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Read returns the system's environment for the user's programs after a new logon, merged over Spec.Env. The
// directories of its PATH come before those of Spec.Env. Read does not start a process, and ignores Spec.Enter. It
// returns an *Error.
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
	merged := lookup.Merge(lookup.Key, lookup.Once(lookup.Key, spec.Env), "", env)
	path := joinPaths(lookup.Getenv(merged, "PATH"), userPath())
	path = joinPaths(path, lookup.Getenv(spec.Env, "PATH"))
	return lookup.Merge(lookup.Key, merged, "", []string{"PATH=" + path}), nil
}

// userPath returns the user's PATH in the registry, which Windows appends to the system's, but Wine 8 does not.
func userPath() string {
	key, err := registry.OpenKey(registry.CURRENT_USER, "Environment", registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	path, kind, err := key.GetStringValue("PATH")
	if err != nil {
		return ""
	}
	if kind == registry.EXPAND_SZ {
		if expanded, err := registry.ExpandString(path); err == nil {
			path = expanded
		}
	}
	return path
}

// joinPaths returns the entries of a PATH, followed by those that only another one has.
func joinPaths(path, other string) string {
	entries := filepath.SplitList(path)
	for _, entry := range filepath.SplitList(other) {
		if !slices.ContainsFunc(entries, func(e string) bool {
			return strings.EqualFold(filepath.Clean(e), filepath.Clean(entry))
		}) {
			entries = append(entries, entry)
		}
	}
	return strings.Join(entries, string(filepath.ListSeparator))
}

// Locate returns spec.
func Locate(spec Spec) Spec { return spec }
