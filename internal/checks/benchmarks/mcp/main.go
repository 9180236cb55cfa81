// Mcp compares acpterm-mcp with other MCP servers that run commands, and MCP with terminal/*. It prints two Markdown
// tables:
//
//	npm ci --ignore-scripts --prefix internal/checks/benchmarks/testdata/mcp
//	go run ./internal/checks/benchmarks/mcp [-quick] [-only REGEXP]
//
// The servers are separate processes, started unmodified. This program is their client. The first table shows how they
// behave, each used through its own tools. The second one shows calls per second and latencies of a command that does
// nothing. Missing servers of npm are left out. It needs Linux, where /proc tells which processes a server has left
// behind.
//
// The rows are in row_*.go, the servers in server_*.go.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if child(os.Args) {
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

const usage = `usage: mcp [FLAG...]

Compares acpterm-mcp with other MCP servers, and MCP with terminal/*, and prints two tables.

  mcp -quick
  mcp -only 'kill|survivors'
  mcp -only 'per second'

`

func run() error {
	var s settings
	flag.BoolVar(&s.quick, "quick", false, "measure for a moment, with less output and fewer calls")
	only := flag.String("only", "", "measure only rows and tables whose names match this regular `expression`")
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
	if runtime.GOOS != "linux" {
		return errors.ErrUnsupported
	}
	ignoreNoSignals()
	built, remove, err := build()
	if err != nil {
		return err
	}
	defer remove()
	ctx := context.Background()
	servers := slices.DeleteFunc(servers(built), func(s server) bool {
		if s.missing != nil {
			fmt.Println("left out:", s.missing)
		}
		return s.missing != nil
	})
	fmt.Printf("load: %s\n", load())
	errs := []error{behaviours(ctx, s, servers, onlyRows)}
	if onlyRows.MatchString(speedName) {
		errs = append(errs, speeds(ctx, s, doors(servers)))
	}
	fmt.Printf("\nload: %s\n", load())
	return errors.Join(errs...)
}

// ignoreNoSignals catches the signals that a shell makes its background jobs ignore, so that the servers do not ignore
// them. acpterm makes commands not ignore them either, at a cost for each start.
func ignoreNoSignals() {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// behaviours prints the first table.
func behaviours(ctx context.Context, s settings, servers []server, only *regexp.Regexp) error {
	chosen := slices.DeleteFunc(rows(), func(r row) bool { return !only.MatchString(r.name) })
	if len(chosen) == 0 {
		return nil
	}
	names := make([]string, len(servers))
	for i, server := range servers {
		names[i] = server.name
	}
	fmt.Printf("\n| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	var errs []error
	for _, r := range chosen {
		fmt.Printf("| %s |", r.name)
		for _, server := range servers {
			text, err := r.of(ctx, s, server)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", r.name, server.name, err))
				text = "FAILED: " + err.Error()
			}
			fmt.Printf(" %s |", cell(text))
		}
		fmt.Println()
	}
	return errors.Join(errs...)
}

// cell makes a text fit into a cell of a table.
func cell(text string) string { return strings.NewReplacer("\n", " ", "|", "/").Replace(text) }

// load returns the load average of the last minute, in processes.
func load() string {
	average, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(average), " ")
	return cmp.Or(first, "unknown")
}
