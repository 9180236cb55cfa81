//go:build linux || windows

package acpterm_test

import testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"

const childMark = testchildren.Mark
