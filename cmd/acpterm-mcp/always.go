package main

// The answers "always" of the user, which are kept in a file with a line of JSON for each.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
)

// kept is a line of the file: a command that the user always allows.
type kept struct {
	Program   string            `json:"program"` // the file that runs
	Args      []string          `json:"args"`    // with the program's name
	Line      string            `json:"line,omitempty"`
	Dir       string            `json:"dir"`
	Variables map[string]string `json:"variables,omitempty"` // set by the agent
	Rule      string            `json:"rule,omitempty"`      // that asks
	Place     string            `json:"place,omitempty"`     // a sandbox or a remote shell
	Input     bool              `json:"input,omitempty"`     // the agent can type into it
	Time      *time.Time        `json:"time,omitempty"`      // of the answer
}

// alwaysFile keeps the answers. Several processes may use the file at once: they append lines, and read all of them for
// each question, so that changes of the user count at once.
type alwaysFile struct {
	path  string
	place string
}

// approver is the type of acpterm.Options.Approve.
type approver func(context.Context, acpterm.Question) acpterm.Answer

// maxAlways is the size of a file that is read, in bytes.
const maxAlways = 4 << 20

// openAlways returns the file, or nil if commands may write to it.
func (opts *options) openAlways() *alwaysFile {
	dir, err := os.UserConfigDir()
	if err == nil {
		dir = filepath.Join(dir, "acpterm")
		err = outside(dir, opts.written())
	}
	if err != nil {
		say(fmt.Sprintf("the answer \"always\" is not offered: %v", err))
		return nil
	}
	a := &alwaysFile{path: filepath.Join(dir, "always.jsonl")}
	var place []string
	if opts.runner != nil {
		place = append(place, acpterm.Command{Args: opts.runner}.String())
	}
	switch {
	case opts.sandbox && opts.network:
		place = append(place, "sandbox with a network")
	case opts.sandbox:
		place = append(place, "sandbox")
	}
	a.place = strings.Join(place, "; ")
	return a
}

// entry returns the line for a command, without a time.
func (a *alwaysFile) entry(p acpterm.Proposal, rule string) kept {
	e := kept{
		Program: p.Command.Path, Args: p.Command.Args, Line: p.Command.ShellLine, Dir: p.Command.Dir, Rule: rule,
		Place: a.place, Input: p.Stdin || p.PTY != nil && p.PTY.Attended,
	}
	for _, v := range p.Requested.Env {
		if e.Variables == nil {
			e.Variables = make(map[string]string)
		}
		e.Variables[v.Name] = v.Value // the last one counts
	}
	return e
}

// policy returns a policy with the decisions of inner, except that commands in the file need no answer.
func (a *alwaysFile) policy(inner acpterm.Policy) acpterm.Policy {
	return acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
		d := inner.Decide(ctx, p)
		if d.Verdict == acpterm.VerdictAsk && d.Change == nil && d.Answer == nil && a.has(a.entry(p, d.Rule)) {
			d.Answer = &acpterm.Answer{Approval: acpterm.ApprovalAllowAlways, By: a.path}
		}
		return d
	})
}

// approve returns a function that asks the user. The file keeps the answer "always", and approvals the others: it would
// also use an answer whose line the user has removed.
func (a *alwaysFile) approve(ask approver, approvals *policy.Approvals) approver {
	return func(ctx context.Context, q acpterm.Question) acpterm.Answer {
		answer := ask(ctx, q)
		if answer.Approval != acpterm.ApprovalAllowAlways {
			return approvals.Approve(func(context.Context, acpterm.Question) acpterm.Answer { return answer })(ctx, q)
		}
		e := a.entry(q.Proposal, q.Rule)
		e.Time = new(time.Now().UTC().Truncate(time.Second))
		if ctx.Err() != nil {
			return answer // too late
		}
		if err := a.add(e); err != nil {
			say(fmt.Sprintf("the answer \"always\" is not kept: %v", err))
		}
		return answer
	}
}

// has reports whether the file has a command.
func (a *alwaysFile) has(wanted kept) bool {
	all, err := a.read()
	if err != nil {
		say(err.Error())
	}
	return slices.ContainsFunc(all, func(e kept) bool {
		e.Time = nil
		return reflect.DeepEqual(e, wanted)
	})
}

// read returns the lines that are valid, and an error about the others. A missing file has none.
func (a *alwaysFile) read() (all []kept, err error) {
	file, err := os.Open(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxAlways:
		return nil, fmt.Errorf("%s is not read, because it is no file of at most %d bytes", a.path, maxAlways)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s is not read, because other users can write to it", a.path)
	}
	data := make([]byte, info.Size())
	n, _ := file.ReadAt(data, 0)
	number := 0
	for line := range bytes.Lines(data[:n]) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var e kept
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields() // a condition that is not known must not be ignored
		if failed := decoder.Decode(&e); failed != nil || decoder.More() || !utf8.Valid(line) {
			err = errors.Join(err, fmt.Errorf("%s: line %d is not used: it is no JSON of this format", a.path, number))
			continue
		}
		all = append(all, e)
	}
	return all, err
}

// add adds a line.
func (a *alwaysFile) add(e kept) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var back kept
	if err := json.Unmarshal(line, &back); err != nil || !reflect.DeepEqual(back, e) {
		return errors.New("the command is no text in UTF-8")
	}
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(a.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...) // after an editor that wrote no last newline
		}
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}
