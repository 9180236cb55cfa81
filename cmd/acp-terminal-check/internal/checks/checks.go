// Package checks contains the checks of a client's terminal/* methods: the messages to send, and the required answers.
// A check knows the client only by its answers, and commands by files that they lock.
package checks

import (
	"fmt"
	"slices"
	"strings"
)

// Level is the origin of a promise.
type Level string

const (
	// Protocol is a promise of a page of ACP or of its schema.
	Protocol Level = "protocol"
	// Beyond is a promise that those leave open, but that an agent needs.
	Beyond Level = "beyond"
)

// Check is one promise, with a way to see whether it is kept.
type Check struct {
	ID    string
	Title string // behaviour of a client that passes
	Level Level
	// Source is the page and its section, or the type of the schema; for Beyond, it is the reason in plain words.
	Source string

	// needs lists the ids of checks that must pass before this one, which would report the same fault again. Their needs
	// count as well.
	needs   []string
	signals bool // only where commands can end by a signal
	stays   bool // its command must run until the client's end
	run     func(*T)
}

// protocol returns a check of a promise of the protocol.
func protocol(id, title, source string, run func(*T), needs ...string) Check {
	return Check{ID: id, Title: title, Level: Protocol, Source: source, needs: needs, run: run}
}

// beyond returns a check of a promise beyond it.
func beyond(id, title, source string, run func(*T), needs ...string) Check {
	return Check{ID: id, Title: title, Level: Beyond, Source: source, needs: needs, run: run}
}

// first is the check that all others need.
const first = "create.id"

// Needs returns the ids of the checks that must pass before this one is tried.
func (c Check) Needs() []string {
	if c.ID == first {
		return nil
	}
	return append([]string{first}, c.needs...)
}

// All returns the checks in order: each comes after the checks it needs, and those that may end the connection come
// last.
func All() (all []Check) {
	left := slices.Concat(create(), directories(), environment(), output(), text(), limits(), wait(), kill(), release(),
		sessions(), ids(), cancels(), robustness(), ends())
	placed := make(map[string]bool)
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(c Check) bool {
			return !slices.ContainsFunc(c.Needs(), func(id string) bool { return !placed[id] })
		})
		if next < 0 {
			panic("checks need each other, or one that there is not: " + left[0].ID)
		}
		placed[left[next].ID] = true
		all = append(all, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return all
}

// WithNeeds returns the selected checks and those they need.
func WithNeeds(selected func(Check) bool) (some []Check) {
	needed := make(map[string]bool)
	for _, c := range slices.Backward(All()) {
		if selected(c) || needed[c.ID] {
			some = append(some, c)
			for _, id := range c.Needs() {
				needed[id] = true
			}
		}
	}
	slices.Reverse(some)
	return some
}

// Outcome is the result of a check in one word.
type Outcome string

const (
	Pass          Outcome = "pass"
	Fail          Outcome = "fail"
	NotApplicable Outcome = "not applicable"
	// NotTried means that the check has no result, because it needs another one or because the time was over.
	NotTried Outcome = "not tried"
	// Later means that the check is decided when the client has ended, by whether the lock of CommandFile is still
	// held.
	Later Outcome = "later"
	// Trouble is a failure of the kit itself, which says nothing about the client.
	Trouble Outcome = "error"
)

// Result describes the outcome of a check. If it did not pass, Reason says why, Expected describes the right answer,
// and Exchanges are the first message and the last ones.
type Result struct {
	ID        string     `json:"id"`
	Outcome   Outcome    `json:"outcome"`
	Reason    string     `json:"reason,omitempty"`
	Expected  string     `json:"expected,omitempty"`
	Exchanges []Exchange `json:"exchanges,omitempty"`

	timedOut bool // something was too late
}

// Exchange is a message to the client and the client's answer.
type Exchange struct {
	Sent string `json:"sent"`
	Came string `json:"came"`
}

// shortened returns a readable text, with the middle of a long one omitted.
func shortened(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	begin, end := text[:most/2], text[len(text)-most/2:]
	return strings.ToValidUTF8(fmt.Sprintf("%s … %d bytes … %s", begin, len(text)-most, end), "�")
}
