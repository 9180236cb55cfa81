package main

// Starting the client, and reading its agent's results. A client whose connection ends during a check is started again
// for the remaining checks.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/checks"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

const (
	// startTime is the maximum time for a client to begin the first check, and to end after the last one.
	startTime = time.Minute
	// graceTime is the agent's extra time, after the time for all checks, to end the last one.
	graceTime = 5 * time.Second
	// pollTime is the interval between reads of the results.
	pollTime = 20 * time.Millisecond
)

// checker starts a client until all checks have a result.
type checker struct {
	settings
	manager *acpterm.Manager // of the client's processes
	dir     string           // of the files
	until   time.Time        // the deadline for all checks
	report  *report
}

// check checks a client.
func check(ctx context.Context, s settings) (r *report, err error) {
	dir, err := os.MkdirTemp("", "acp-terminal-check")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m, err := acpterm.NewManager(&acpterm.Options{
		Commands: acpterm.CommandOptions{Unattended: []string{}, ShellLines: acpterm.ShellNever},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	c := &checker{settings: s, manager: m, dir: dir, until: time.Now().Add(s.total), report: &report{}}
	for left := s.selected; len(left) > 0 && time.Now().Before(c.until); left = c.left() {
		if err := c.start(ctx, left); err != nil {
			return nil, err
		}
	}
	for _, each := range c.left() {
		c.report.add(checks.OutOfTime(each.ID))
	}
	return c.report, nil
}

// left returns the checks without a result.
func (c *checker) left() (all []checks.Check) {
	for _, each := range c.selected {
		if !slices.ContainsFunc(c.report.Results, func(r result) bool { return r.ID == each.ID }) {
			all = append(all, each)
		}
	}
	return all
}

// start starts the client for these checks. It adds at least one result to the report, or fails.
func (c *checker) start(ctx context.Context, all []checks.Check) error {
	commands, err := os.MkdirTemp(c.dir, "commands")
	if err != nil {
		return err
	}
	p := plan{Timeout: c.timeout, Until: c.until, Dir: commands, Unmet: make(map[string]checks.Outcome)}
	for _, each := range all {
		p.IDs = append(p.IDs, each.ID)
	}
	for _, r := range c.report.Results {
		if r.Outcome != checks.Pass && r.Outcome != checks.NotApplicable {
			p.Unmet[r.ID] = r.Outcome
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = errors.Join(os.RemoveAll(filepath.Join(c.dir, resultsFile)),
		os.WriteFile(filepath.Join(c.dir, planFile), text, 0o600))
	if err != nil {
		return err
	}
	line, err := c.commandLine()
	if err != nil {
		return err
	}
	client, err := c.manager.Create(ctx, acpterm.CreateTerminalRequest{
		SessionID: "client", Command: line[0], Args: line[1:],
	}, &acpterm.CommandOptions{ShellLines: acpterm.ShellNever})
	if err != nil {
		return fmt.Errorf("the client did not start: %w", err)
	}
	found, err := c.follow(ctx, client)
	if err == nil {
		err = c.add(found, client, commands)
	}
	for _, id := range p.IDs { // commands left by a client
		err = errors.Join(err, checks.Stop(commands, id))
	}
	return errors.Join(err, c.manager.Release(context.WithoutCancel(ctx), "client", client.ID()))
}

// commandLine returns the client's command line with the agent in it.
func (c *checker) commandLine() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	agent := []string{self, agentMark, c.dir}
	var quoted []string
	for _, word := range agent {
		if strings.ContainsAny(word, " \t") {
			word = strconv.Quote(word)
		}
		quoted = append(quoted, word)
	}
	line, given := slices.Clone(c.client), false
	for i, word := range line {
		given = given || strings.Contains(word, "{agent}")
		line[i] = strings.ReplaceAll(word, "{agent}", strings.Join(quoted, " "))
	}
	if !given {
		line = append(line, agent...)
	}
	return line, nil
}

// findings are the results recorded by an agent.
type findings struct {
	client  *clientInfo
	begun   string // the check without a result, or ""
	results []checks.Result
	done    bool
	size    int // of the file
}

// read reads the results up to now. An incomplete line is left for the next call.
func (c *checker) read() (f findings) {
	text, _ := os.ReadFile(filepath.Join(c.dir, resultsFile)) // the file does not exist until the agent has started
	f.size = len(text)
	for line := range bytes.Lines(text) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			break
		}
		switch {
		case r.Client != nil:
			f.client = r.Client
		case r.Begun != "":
			f.begun = r.Begun
		case r.Result != nil:
			f.results, f.begun = append(f.results, *r.Result), ""
		}
		f.done = f.done || r.Done
	}
	return f
}

// follow reads the results until the client has ended or makes no more progress.
func (c *checker) follow(ctx context.Context, client *acpterm.Terminal) (f findings, err error) {
	for progress, size := time.Now(), 0; ; {
		select {
		case <-ctx.Done():
			return f, context.Cause(ctx)
		case <-time.After(pollTime):
		}
		ended := client.State() == acpterm.StateEnded
		f = c.read()
		if f.size > size {
			progress, size = time.Now(), f.size
		}
		if ended || time.Since(progress) > startTime+3*c.timeout || time.Now().After(c.until.Add(graceTime)) {
			return f, nil
		}
	}
}

// add adds the findings, and conclusions from the client's end, to the report. It fails without any findings. commands
// is the directory of the commands' files.
func (c *checker) add(f findings, client *acpterm.Terminal, commands string) error {
	c.report.Client = cmp.Or(f.client, c.report.Client)
	for _, r := range f.results {
		if r.Outcome == checks.Later {
			r = c.afterTheEnd(r, client, checks.CommandFile(commands, r.ID))
		}
		c.report.add(r)
	}
	switch {
	case f.begun == "":
	case client.State() == acpterm.StateEnded:
		c.report.add(checks.Result{
			ID: f.begun, Outcome: checks.Fail, Expected: "the connection to stay",
			Reason: "the client or its connection ended in this check; it printed: " + c.printed(client),
		})
	case time.Now().After(c.until): // the client reads nothing: the agent is stuck in a write
		c.report.add(checks.OutOfTime(f.begun))
	default:
		c.report.add(checks.Result{
			ID: f.begun, Outcome: checks.Fail, Expected: "the client to go on",
			Reason: "the client did not go on in this check; it printed: " + c.printed(client),
		})
	}
	switch {
	case f.begun != "" || len(f.results) > 0:
		return nil
	case f.client == nil:
		return fmt.Errorf("the client did not start the agent, or did not send initialize; it printed: %s", c.printed(client))
	case !f.client.Terminal:
		return errors.New("the client does not say that it has terminals: clientCapabilities.terminal is not true")
	}
	return fmt.Errorf("the client sent no prompt; it printed: %s", c.printed(client))
}

// printed returns the end of the client's printed text.
func (c *checker) printed(client *acpterm.Terminal) string {
	const most = 2000
	text := client.Output().Output
	return strconv.Quote(strings.ToValidUTF8(text[max(0, len(text)-most):], ""))
}

// afterTheEnd decides a check whose command must end with the connection. The command has locked a file.
func (c *checker) afterTheEnd(r checks.Result, client *acpterm.Terminal, locked string) checks.Result {
	if client.State() != acpterm.StateEnded {
		r.Outcome, r.Reason = checks.NotApplicable, "the client did not end after its prompt"
		return r
	}
	r.Outcome = checks.Pass
	for start := time.Now(); child.Held(locked); {
		if time.Since(start) > c.timeout {
			r.Outcome, r.Expected = checks.Fail, "the command to end"
			r.Reason = fmt.Sprintf("the command ran on for %v after the client's end", c.timeout)
			return r
		}
		time.Sleep(pollTime)
	}
	return r
}
