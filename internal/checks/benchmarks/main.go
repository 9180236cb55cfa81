// Benchmarks compares acpterm with alternatives for clients that run commands for an agent. It prints a Markdown table,
// and exits with status 1 if acpterm misses a target in the table:
//
//	go run ./internal/checks/benchmarks [-quick] [-rounds N] [-only REGEXP]
//
// Each client is a separate process. This program is the agent, connected to it by two pipes. The speed of a shared
// machine drifts. Therefore, every client has a turn in each round of a row, a number is the median of all rounds (or
// their sum, for counts), and a target compares numbers of the same run.
//
// The rows are in row_*.go, the clients in client_*.go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
)

func main() {
	if child(os.Args) {
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// ignoreNoSignals catches the signals that a shell makes its background jobs ignore, so that the clients do not ignore
// them. acpterm makes commands not ignore them either, at a cost for each start.
func ignoreNoSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

const usage = `usage: benchmarks [FLAG...]

Measures acpterm beside other clients, prints a table, and exits with 1 if acpterm misses a target.

  benchmarks -quick
  benchmarks -only 'wait' -rounds 5
  benchmarks -only 'output'

`

func run() error {
	keepDescriptors()
	ignoreNoSignals()
	var s settings
	flag.BoolVar(&s.quick, "quick", false, "measure for a moment; a missed target is not a failure")
	flag.IntVar(&s.rounds, "rounds", 0, "the number of `rounds` of each row (default: chosen by the row)")
	only := flag.String("only", "", "measure only rows whose names match this regular `expression`")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	onlyRows, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	fmt.Printf("%s\nload: %s\n", describeMachine(), load())
	var errs []error
	var columns []string
	missed := 0
	for _, r := range slices.DeleteFunc(rows(), func(r row) bool { return !onlyRows.MatchString(r.name) }) {
		if !slices.Equal(columns, r.columns()) {
			columns = r.columns()
			fmt.Print(tableHead(columns))
		}
		result := r.measure(s)
		fmt.Print(result.markdown())
		errs = append(errs, result.failure())
		missed += result.missed()
	}
	fmt.Printf("\nload: %s\n", load())
	if missed > 0 && !s.quick {
		errs = append(errs, fmt.Errorf("%d targets are missed", missed))
	}
	return errors.Join(errs...)
}

// rows returns all rows in the order of the table.
func rows() []row {
	return slices.Concat(commandRows(), exitRows(), idleRows(), writeRows(), pollRows(), killRows(),
		releaseRows(), configurationRows(), scaleRows())
}
