package main

// This file defines the exit codes.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

const (
	exitTurnEnded   = 0
	exitFailed      = 1
	exitUsage       = 2
	exitAgentGone   = 3
	exitTurnStopped = 4
	exitNotSignedIn = 5
	exitLost        = 6
	exitInterrupted = 130 // like a shell, for an interrupted command
)

// Each of these errors has its own exit code.
var (
	errAgentGone   = errors.New("the agent ended before it was done")
	errTurnStopped = errors.New("the turn ended")
	errNotSignedIn = errors.New("not signed in")
	errCancelled   = errors.New("cancelled")
	errLeft        = errors.New("left")
	errUsage       = errors.New("wrong command line")
)

// exit is an exit code and its error, or nil.
type exit struct {
	code int
	err  error
	when string
}

// exits lists the exit codes. If an error matches several, the first counts.
var exits = []exit{
	{exitTurnEnded, nil, "the turn ended with end_turn, whatever commands were denied, failed or were lost"},
	{exitFailed, nil, "another error"},
	{exitUsage, errUsage, "wrong command line"},
	{exitInterrupted, errCancelled, "interrupted by SIGINT, SIGTERM or SIGHUP"},
	{exitInterrupted, errLeft, ""},
	{exitNotSignedIn, errNotSignedIn, "the agent requires a sign-in"},
	{exitAgentGone, errAgentGone, "the agent ended during its turn"},
	{exitTurnStopped, errTurnStopped, "the turn ended otherwise, for example with refusal or max_tokens"},
	{exitLost, acpterm.ErrConnectionLost,
		"the connection of -runner failed or was lost"},
}

func exitCode(err error) int {
	if err == nil {
		return exitTurnEnded
	}
	for _, e := range exits {
		if e.err != nil && errors.Is(err, e.err) {
			return e.code
		}
	}
	return exitFailed
}

// exitHelp lists the exit codes.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("\nExit codes:\n")
	byCode := slices.Clone(exits)
	slices.SortStableFunc(byCode, func(a, b exit) int { return a.code - b.code })
	for _, e := range byCode {
		if e.when != "" {
			fmt.Fprintf(&b, "  %-4d %s\n", e.code, e.when)
		}
	}
	return b.String()
}
