//go:build darwin || freebsd

package lawtest

// systemChildren returns the children for this system's tests.
func systemChildren() map[string]func(args []string) { return nil }
