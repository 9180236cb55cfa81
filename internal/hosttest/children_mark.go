//go:build linux || windows

package hosttest

import testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"

const ChildMark = testchildren.Mark
