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
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

func main() {
	if !bench.Child(children()) {
		bench.Main(usage, run)
	}
}

const usage = `usage: mcp [FLAG...]

Compares acpterm-mcp with other MCP servers, and MCP with terminal/*, and prints two tables.

  mcp -quick
  mcp -only 'kill|survivors'
  mcp -only 'per second'

`

func run(quick bench.Quick, only *regexp.Regexp) error {
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
	fmt.Printf("load: %s\n", bench.Load())
	errs := []error{behaviours(ctx, quick, servers, only)}
	if only.MatchString(speedName) {
		errs = append(errs, speeds(ctx, quick, doors(servers)))
	}
	fmt.Printf("\nload: %s\n", bench.Load())
	return errors.Join(errs...)
}

// behaviours prints the first table.
func behaviours(ctx context.Context, quick bench.Quick, servers []server, only *regexp.Regexp) error {
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
			text, err := r.of(ctx, quick, server)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", r.name, server.name, err))
				text = "FAILED: " + err.Error()
			}
			fmt.Printf(" %s |", bench.Cell(text))
		}
		fmt.Println()
	}
	return errors.Join(errs...)
}
