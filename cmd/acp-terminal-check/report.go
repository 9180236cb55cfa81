package main

// The report, as readable text and as JSON.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/checks"
	"github.com/acpterm/acpterm/display"
)

// report holds the findings about a client.
type report struct {
	Client  *clientInfo `json:"client"`
	Results []result    `json:"results"`
}

// result is a check's result with the description of the check.
type result struct {
	checks.Result
	Title  string       `json:"title"`
	Level  checks.Level `json:"level"`
	Source string       `json:"source"`
}

// add adds a result, and keeps the order of the checks.
func (r *report) add(found checks.Result) {
	all := checks.All()
	place := func(id string) int { return slices.IndexFunc(all, func(c checks.Check) bool { return c.ID == id }) }
	c := all[place(found.ID)]
	r.Results = append(r.Results, result{found, c.Title, c.Level, c.Source})
	slices.SortFunc(r.Results, func(a, b result) int { return cmp.Compare(place(a.ID), place(b.ID)) })
}

// exitStatus returns the program's exit status.
func (r *report) exitStatus() int {
	status, untried := exitPassed, false
	for _, each := range r.Results {
		switch each.Outcome {
		case checks.Trouble:
			return exitUnchecked
		case checks.Fail:
			status = exitFailed
		case checks.NotTried:
			untried = true
		}
	}
	if untried && status == exitPassed {
		return exitUnchecked
	}
	return status
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// writeText writes the report as readable text: the checks that did not pass, and how many did. If verbose, it lists
// all of them.
func (r *report) writeText(w io.Writer, verbose bool) error {
	var b strings.Builder
	if r.Client != nil && r.Client.Name != "" {
		fmt.Fprintf(&b, "%s\n\n", display.Visible(strings.TrimSpace(r.Client.Name+" "+r.Client.Version), 0))
	}
	for _, each := range r.Results {
		switch {
		case each.Outcome == checks.NotTried:
		case each.Outcome != checks.Pass:
			each.write(&b)
		case verbose:
			fmt.Fprintf(&b, "pass  %s: %s\n", each.ID, each.Title)
		}
	}
	r.writeNotTried(&b)
	for _, level := range []checks.Level{checks.Protocol, checks.Beyond} {
		count := make(map[checks.Outcome]int)
		for _, each := range r.Results {
			if each.Level == level {
				count[each.Outcome]++
			}
		}
		fmt.Fprintf(&b, "%-9s %d passed, %d failed", level+":", count[checks.Pass], count[checks.Fail])
		for _, outcome := range []checks.Outcome{checks.NotApplicable, checks.NotTried, checks.Trouble} {
			if count[outcome] > 0 {
				fmt.Fprintf(&b, ", %d %s", count[outcome], outcome)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeNotTried writes a line for each untried check, with the reason.
func (r *report) writeNotTried(b *strings.Builder) {
	before := b.Len()
	for _, each := range r.Results {
		if each.Outcome == checks.NotTried {
			fmt.Fprintf(b, "%s  %s: %s\n", each.Outcome, each.ID, display.Visible(each.Reason, 0))
		}
	}
	if b.Len() > before {
		b.WriteByte('\n')
	}
}

// write writes a result other than a pass.
func (r result) write(b *strings.Builder) {
	fmt.Fprintf(b, "%-5s %s: %s\n", r.Outcome, r.ID, r.Title)
	part := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "      %-9s %s\n", name+":", display.Visible(text, 0)) // some of it is the client's
		}
	}
	part(string(r.Level), r.Source)
	part("expected", r.Expected)
	part("found", r.Reason)
	for _, e := range r.Exchanges {
		part("sent", e.Sent)
		part("came", e.Came)
	}
	b.WriteByte('\n')
}

// list writes the descriptions of the checks.
func list(w io.Writer, all []checks.Check) {
	for _, c := range all {
		fmt.Fprintf(w, "%-9s %-24s %s (%s)\n", c.Level, c.ID, c.Title, c.Source)
	}
}
