//go:build !unix

package usershell_test

// loginChildren returns the simulated login shells.
func loginChildren() map[string]func(args []string) { return nil }
