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
	"errors"
	"fmt"
	"regexp"
	"slices"

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
