//go:build !unix

package usershell_test

// loginChildren are the login shells that tests play.
func loginChildren() map[string]func(args []string) { return nil }
