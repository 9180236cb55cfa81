//go:build !windows

package capture

// asUTF8 returns the Sink unchanged: only Windows has code pages.
func asUTF8(to Sink) (sink Sink, flush func()) { return to, func() {} }
