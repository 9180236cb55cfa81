// Package checks has the checks of a client's terminal/* methods: what is sent, and what has to come. A check knows the
// client by its answers alone, and commands by files that they lock.
package checks

import (
	"fmt"
	"slices"
	"strings"
)

// Level says where a promise is made.
type Level string

const (
	// Protocol is what a page of ACP or its schema says.
	Protocol Level = "protocol"
	// Beyond is what those leave open, and an agent needs nevertheless.
	Beyond Level = "beyond"
)

// Check is one promise, and how to see whether it is kept.
type Check struct {
	ID    string
	Title string // what a client that passes does
	Level Level
	// Source is the page and its section, or the type of the schema; for Beyond the reason in plain words.
	Source string

	// needs are the ids, separated by blanks, of checks to pass before this one: it would accuse the client of the same
	// fault again. Their needs count as well.
	needs   string
	signals bool // only where commands can end by a signal
	stays   bool // its command is to run until the client's end
	run     func(*T)
}

// first is the check that all others need.
const first = "create.id"

// Needs are the ids of the checks to pass before this one is tried.
func (c Check) Needs() []string {
	if c.ID == first {
		return nil
	}
	return append([]string{first}, strings.Fields(c.needs)...)
}

// All are the checks in their order: each after the checks that it needs, and the last are those that may end the
// connection.
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

// WithNeeds adds to a selection of all checks those that it needs.
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

// Outcome is how a check went.
type Outcome string

const (
	Pass          Outcome = "pass"
	Fail          Outcome = "fail"
	NotApplicable Outcome = "not applicable"
	// NotTried is a check without a result: it needs another one, or the time was over.
	NotTried Outcome = "not tried"
	// Later is a check that is decided when the client has ended: by whether the lock of CommandFile is still held.
	Later Outcome = "later"
	// Trouble is a failure of the kit's own, which says nothing about the client.
	Trouble Outcome = "error"
)

// Result says how a check went. For one without a pass, Reason says why, Expected names the right answer, Commands are
// the client's commands as lines for a shell, and Exchanges have the last messages.
type Result struct {
	ID        string     `json:"id"`
	Outcome   Outcome    `json:"outcome"`
	Reason    string     `json:"reason,omitempty"`
	Expected  string     `json:"expected,omitempty"`
	Commands  []string   `json:"commands,omitempty"`
	Exchanges []Exchange `json:"exchanges,omitempty"`

	timedOut bool // something did not come in time
}

// Exchange is a message to the client and what came back.
type Exchange struct {
	Sent string `json:"sent"`
	Came string `json:"came"`
}

// shortened is a text for people, with what is in its middle left out if it is long.
func shortened(text string) string { return shortenedTo(600, text) }

func shortenedTo(most int, text string) string {
	if len(text) <= most {
		return text
	}
	begin, end := text[:most/2], text[len(text)-most/2:]
	return strings.ToValidUTF8(fmt.Sprintf("%s … %d bytes … %s", begin, len(text)-most, end), "�")
}
