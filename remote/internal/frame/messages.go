package frame

// The messages. Texts that need not be UTF-8, such as paths, arguments and variables, are bytes, which JSON carries as
// base64.

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Bytes is a text that need not be UTF-8.
type Bytes []byte

// Texts are the bytes of strings.
func Texts(strings []string) []Bytes {
	texts := make([]Bytes, len(strings))
	for i, s := range strings {
		texts[i] = Bytes(s)
	}
	return texts
}

// Strings are texts as strings.
func Strings(texts []Bytes) []string {
	strings := make([]string, len(texts))
	for i, t := range texts {
		strings[i] = string(t)
	}
	return strings
}

// Request is what a Runner sends. One of the pointers is set, or none: a ping, which is answered like the others.
type Request struct {
	// ID is that of the Reply. 0: there is none, as for Cancel, Signal and Close.
	ID uint64 `json:"id,omitempty"`

	RealDir *RealDir `json:"realDir,omitempty"`
	Look    *Command `json:"look,omitempty"`
	Start   *Start   `json:"start,omitempty"`
	Cancel  *Process `json:"cancel,omitempty"` // a start that need not be answered: what it started is to be ended
	Signal  *Signal  `json:"signal,omitempty"`
	Close   *Process `json:"close,omitempty"` // give a tree up; the helper answers with Answer.Closed
}

// RealDir asks for a directory without symbolic links: Reply.Dir.
type RealDir struct {
	Dir Bytes `json:"dir"`
}

// Command is a command to look up (Reply.Found: Args, Dir, Env, Shell) or to start.
type Command struct {
	Path  Bytes   `json:"path,omitempty"`
	Args  []Bytes `json:"args"`
	Dir   Bytes   `json:"dir"`
	Env   []Bytes `json:"env"`
	Shell Bytes   `json:"shell,omitempty"` // the shell line, if it is one
}

// Start starts a command: Reply.Started, and then Events of the process.
type Start struct {
	Process uint64  `json:"process"` // its number on this connection, which the Runner chooses and uses once
	Command Command `json:"command"`
	Pin     string  `json:"pin,omitempty"` // Found.Pin; empty: any file will do
	Limits  []Limit `json:"limits,omitempty"`
	// MarkName and MarkValue are the variable by which processes that left the session are found.
	MarkName  string `json:"markName"`
	MarkValue string `json:"markValue"`
}

// Limit is a limit that is asked for (Name, Value) or that holds.
type Limit struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"` // in the unit of the field of acpterm.Limits, seconds for CPUTime
	By    string `json:"by,omitempty"`
	Tree  bool   `json:"tree,omitempty"`
}

// Process names a process by its number on this connection.
type Process struct {
	Process uint64 `json:"process"`
}

// Signal is a signal for the whole tree.
type Signal struct {
	Process uint64 `json:"process"`
	Name    string `json:"name"` // as POSIX names it: "SIGTERM"
}

// Answer is what the helper sends: the Hello first, and then a Reply to each request that has an ID, and Events. One of
// the pointers is set.
type Answer struct {
	Hello  *Hello   `json:"hello,omitempty"`
	Reply  *Reply   `json:"reply,omitempty"`
	Exit   *Exit    `json:"exit,omitempty"`   // after all output that the command itself wrote
	Gone   *Process `json:"gone,omitempty"`   // nothing of the tree is left; after Exit
	Ended  *Process `json:"ended,omitempty"`  // no process is left that could write: the output's end
	Closed *Process `json:"closed,omitempty"` // answers Request.Close: nothing more about the process follows
}

// Hello is the first message on a connection.
type Hello struct {
	Version int     `json:"version"` // this package's Version there
	System  string  `json:"system"`  // as Go names it: "linux"
	Arch    string  `json:"arch"`    // "amd64"
	Dir     Bytes   `json:"dir"`     // the home directory, or the working directory if there is none
	Env     Environ `json:"env"`     // the environment, each name once
}

// Environ are the variables of a Hello.
type Environ []Bytes

// maxEnviron is how many variables a Hello has at the most: an empty one takes ten times the room of its JSON.
const maxEnviron = 64 << 10

// UnmarshalJSON fails for too many variables before it has room for them.
func (e *Environ) UnmarshalJSON(text []byte) error {
	list := json.NewDecoder(bytes.NewReader(text))
	switch start, err := list.Token(); {
	case err != nil:
		return err
	case start == nil: // null
		return nil
	case start != json.Delim('['):
		return fmt.Errorf("the environment is %.100q and not a list", start)
	}
	for list.More() {
		if len(*e) == maxEnviron {
			return fmt.Errorf("the environment has more than %d variables", maxEnviron)
		}
		var variable Bytes
		if err := list.Decode(&variable); err != nil {
			return err
		}
		*e = append(*e, variable)
	}
	return nil
}

// Reply answers the request with the same ID: with Error, or with what was asked for.
type Reply struct {
	ID      uint64   `json:"id"`
	Error   *Error   `json:"error,omitempty"`
	Dir     Bytes    `json:"dir,omitempty"`
	Found   *Found   `json:"found,omitempty"`
	Started *Started `json:"started,omitempty"`
}

// Found is where a program and a directory are, without symbolic links.
type Found struct {
	Path Bytes  `json:"path"`
	Name Bytes  `json:"name"` // the last part of the path before links were followed
	Dir  Bytes  `json:"dir"`
	Pin  string `json:"pin"` // for Start
}

// Started is a command that runs.
type Started struct {
	PID    int     `json:"pid"`
	Limits []Limit `json:"limits,omitempty"`
}

// Exit is how a command ended.
type Exit struct {
	Process uint64 `json:"process"`
	Code    uint32 `json:"code"`
	Signal  string `json:"signal,omitempty"` // then Code counts for nothing
	// Unknown says why it is not known how it ended. Empty: it is.
	Unknown string `json:"unknown,omitempty"`
}

// Error is an error in the terms of acpterm.Error.
type Error struct {
	Kind   string `json:"kind"` // an acpterm.Kind
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Cause  string `json:"cause,omitempty"` // the text of Error.Err
}
