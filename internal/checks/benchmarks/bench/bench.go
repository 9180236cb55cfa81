// Package bench has the shared code of the programs of benchmarks: flags, children and the sizes of measurements.
package bench

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// Main parses the flags of a program and calls run with them. If run fails, the program exits with status 1.
func Main(usage string, run func(quick Quick, only *regexp.Regexp) error) {
	if err := parseAndRun(usage, run); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

func parseAndRun(usage string, run func(quick Quick, only *regexp.Regexp) error) error {
	quick := flag.Bool("quick", false, "measure for a moment, with less output and fewer calls")
	only := flag.String("only", "", "measure only rows whose names match this regular `expression`")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	rows, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	ignoreNoSignals()
	return run(Quick(*quick), rows)
}

// ignoreNoSignals catches the signals that a shell makes its background jobs ignore, so that the measured processes do
// not ignore them. acpterm makes commands not ignore them either, at a cost for each start.
func ignoreNoSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// Quick makes measurements short.
type Quick bool

// Of returns the size of a measurement.
func (q Quick) Of(full, quick int) int {
	if q {
		return quick
	}
	return full
}

// mark, as the first argument, makes a program run one of its children.
const mark = "acpterm-benchmark-child"

// Child runs the child named by the arguments of this process. It reports whether they name one. If the child fails,
// the process exits with status 1.
func Child(children map[string]func(args []string) error) bool {
	if len(os.Args) < 3 || os.Args[1] != mark {
		return false
	}
	err := fmt.Errorf("no such child")
	if do, ok := children[os.Args[2]]; ok {
		err = do(os.Args[3:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", strings.Join(os.Args[1:], " "), err)
		os.Exit(1)
	}
	return true
}

// Self returns the command line of a child.
func Self(name string, args ...any) []string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	line := []string{path, mark, name}
	for _, arg := range args {
		line = append(line, fmt.Sprint(arg))
	}
	return line
}

// Cell makes a text fit into a cell of a table.
func Cell(text string) string { return strings.NewReplacer("\n", " ", "|", "/").Replace(text) }

// Load returns the load average of the last minute, in processes.
func Load() string {
	average, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(average), " ")
	return cmp.Or(first, "unknown")
}

// ProcField returns a number from one of a process's files in /proc, such as VmHWM from status. Sizes are in bytes.
func ProcField(pid int, file, name string) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		value, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, err := strconv.Atoi(number)
		if unit == "kB" {
			n <<= 10
		}
		return n, err
	}
	return 0, fmt.Errorf("/proc/%d/%s has no %s", pid, file, name)
}
