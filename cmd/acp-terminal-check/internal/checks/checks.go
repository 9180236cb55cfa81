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

	signals bool // only where commands can end by a signal
	stays   bool // its command is to run until the client's end
	run     func(*T)
}

// All are the checks in the order that they run in. Those that may end the connection are the last.
func All() []Check {
	return slices.Concat(create(), directories(), environment(), output(), text(), limits(), wait(), kill(), release(),
		sessions(), robustness(), ends())
}

// Outcome is how a check went.
type Outcome string

const (
	Pass          Outcome = "pass"
	Fail          Outcome = "fail"
	NotApplicable Outcome = "not applicable"
	// Later is a check that is decided when the client has ended: by whether the lock of CommandFile is still held.
	Later Outcome = "later"
	// Trouble is a failure of the kit's own, which says nothing about the client.
	Trouble Outcome = "error"
)

// Result is what came of a check. For those that did not pass, Reason says why, Expected what should have come, and
// Exchanges have the last messages.
type Result struct {
	ID        string     `json:"id"`
	Outcome   Outcome    `json:"outcome"`
	Reason    string     `json:"reason,omitempty"`
	Expected  string     `json:"expected,omitempty"`
	Exchanges []Exchange `json:"exchanges,omitempty"`
}

// Exchange is a message to the client and what came back.
type Exchange struct {
	Sent string `json:"sent"`
	Came string `json:"came"`
}

// shortened is a text for people, with what is in its middle left out if it is long.
func shortened(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	begin, end := text[:most/2], text[len(text)-most/2:]
	return strings.ToValidUTF8(fmt.Sprintf("%s … %d bytes … %s", begin, len(text)-most, end), "�")
}
