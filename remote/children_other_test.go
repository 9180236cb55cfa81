//go:build !linux

package remote

func children() map[string]func() { return nil }
