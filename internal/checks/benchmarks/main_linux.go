// Benchmarks compares acpterm with alternatives for clients that run commands for an agent. It prints a Markdown table:
//
//	go run ./internal/checks/benchmarks [-quick] [-only REGEXP]
//
// Each client is a separate process. This program is the agent, connected to it by two pipes. The speed of a shared
// machine drifts. Therefore, every client has a turn in each round of a row, and a number is the median of all rounds
// (or their sum, for counts). It needs Linux: it reads /proc and a clock that all processes share.
//
// The rows are in row_*.go, the clients in client_*.go.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

func main() {
	if !bench.Child(children()) {
		bench.Main(usage, run)
	}
}

const usage = `usage: benchmarks [FLAG...]

Measures acpterm beside other clients, prints a table, and exits with 1 if one of them does something wrong.

  benchmarks -quick
  benchmarks -only 'wait'
  benchmarks -only 'output'

`

func run(quick bench.Quick, only *regexp.Regexp) error {
	keepDescriptors()
	fmt.Printf("%s\nload: %s\n", describeMachine(), bench.Load())
	var errs []error
	var columns []string
	for _, r := range slices.DeleteFunc(rows(), func(r row) bool { return !only.MatchString(r.name) }) {
		if !slices.Equal(columns, r.columns()) {
			columns = r.columns()
			fmt.Print(tableHead(columns))
		}
		result := r.measure(quick)
		fmt.Print(result.markdown())
		errs = append(errs, result.failure())
	}
	fmt.Printf("\nload: %s\n", bench.Load())
	return errors.Join(errs...)
}

// rows returns all rows in the order of the table.
func rows() []row {
	return slices.Concat(commandRows(), exitRows(), idleRows(), writeRows(), pollRows(), killRows(),
		releaseRows(), configurationRows(), scaleRows())
}

// describeMachine describes the machine and the software.
func describeMachine() string {
	const unknown = "unknown"
	processor := unknown
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			processor = strings.TrimSpace(value)
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	version, _ := exec.Command("node", "--version").Output()
	return fmt.Sprintf("%s, %d cores, %s %s, %s, Node %s", processor, runtime.NumCPU(), runtime.GOOS,
		cmp.Or(strings.TrimSpace(string(kernel)), unknown), runtime.Version(),
		cmp.Or(strings.TrimSpace(string(version)), unknown))
}
