package acpterm_test

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// hostThatIsFlooded ERRNO NUMBER...: is refused the system calls, and says what it has of a command's output.
func hostThatIsFlooded(args []string) {
	if len(args) > 0 {
		if err := refuse(syscall.Errno(number(args[0])), args[1:]...); err != nil {
			panic(err)
		}
	}
	m := acpterm.NewManager(nil)
	defer m.Close()
	const total = 64 << 20
	for range 2 {
		term := runHosted(m, childRequest("flood", strconv.Itoa(total), "65536"), acpterm.Limits{})
		fmt.Println(term.OutputTotal() == total, term.Output().Output == strings.Repeat("0123456789abcde\n", 1<<20/16))
	}
}

// An ordinary user's host has all output, and so has one whose kernel does not let it move pages.
func TestOutputOfHostsThatAreRefusedThings(t *testing.T) {
	for name, refused := range map[string][]string{
		"nothing": nil,
		"splice":  {strconv.Itoa(int(unix.ENOSYS)), strconv.Itoa(unix.SYS_SPLICE)},
	} {
		require.Equal(t, "true true\ntrue true\n", runHost(t, append([]string{"host-that-is-flooded"}, refused...)...), name)
	}
}
