//go:build !windows

package capture

// asUTF8 returns the Sink: pipes have no code page.
func asUTF8(to Sink) (sink Sink, flush func()) { return to, func() {} }
