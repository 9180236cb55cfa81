//go:build linux || darwin || freebsd

package main

// Windows whose programs write as fast as they can.

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func init() {
	parts["endless"] = func(args []string) { // until a file is there
		total := 0
		for i := 0; !exists(args[0]); i++ {
			n, _ := fmt.Printf("\r\x1b[K%d%%", i)
			total += n
		}
		fmt.Printf("\r\nwrote %d\n", total)
	}
}

// What a window shows is what its program does now, however slow the emulator is.
func TestAWindowIsNotFarBehindItsProgram(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	w := openWindowWith(t, 80, 24, nil, part("endless", goOn))
	w.until(func() bool { return w.raw.Len() > 64<<10 }, "more than a terminal holds")
	var shown int
	w.Do(func() {
		shown = w.raw.Len()
		create()
	})
	rows := strings.Join(w.exit(0), "\n")
	wrote, err := strconv.Atoi(regexp.MustCompile(`wrote (\d+)`).FindStringSubmatch(rows)[1])
	require.NoError(t, err)
	require.Less(t, wrote-shown, 192<<10) // what a terminal holds, and what was read but not shown
}

// A wait ends at its deadline, though the program writes on.
func TestAWaitForAWindowEnds(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	w := openWindowWith(t, 80, 24, nil, part("endless", goOn))
	w.await(`\d%`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.False(t, w.Until(ctx, func() bool { return strings.Contains(w.emulator.String(), "never") }))
	require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
	create()
	w.exit(0)
}
