package frame

// The messages. Texts that may not be UTF-8, such as paths, arguments and variables, are bytes, which JSON carries as
// base64.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// Bytes is a text that may not be UTF-8.
type Bytes []byte

// Texts converts strings to Bytes.
func Texts(strings []string) []Bytes {
	texts := make([]Bytes, len(strings))
	for i, s := range strings {
		texts[i] = Bytes(s)
	}
	return texts
}

// Strings converts texts to strings.
func Strings(texts []Bytes) []string {
	strings := make([]string, len(texts))
	for i, t := range texts {
		strings[i] = string(t)
	}
	return strings
}

// Request is a message of a Runner. At most one of the pointers and Read is set. If none is, the request is a ping, and is
// answered like the others.
type Request struct {
	// ID is the ID of the Reply. It is 0 if the request has no Reply, as for Cancel, Signal, Resize, EndInput, Close and
	// Read.
	ID uint64 `json:"id,omitempty"`

	RealDir *RealDir `json:"realDir,omitempty"`
	Look    *Command `json:"look,omitempty"`
	Start   *Start   `json:"start,omitempty"`
	Cancel  *Process `json:"cancel,omitempty"` // a start that needs no answer: end its processes
	Signal  *Signal  `json:"signal,omitempty"`
	Input   *Input   `json:"input,omitempty"`
	Resize  *Resize  `json:"resize,omitempty"`
	Close   *Process `json:"close,omitempty"` // give up a tree; answered by Answer.Closed
	// EndInput closes the pipe to the process's standard input. A waiting Input is answered with Reply.Over.
	EndInput *Process `json:"endInput,omitempty"`
	List     *Process `json:"list,omitempty"` // asks for the running processes of a tree; the answer is Reply.List
	// Read is the number of bytes of output frames, with their headers, that the Runner has read on this connection. It
	// has no Reply. The helper sends no more output if too many bytes of it are not read yet.
	Read uint64 `json:"read,omitempty"`
}

// RealDir asks to resolve the symbolic links of a directory. The answer is Reply.Dir.
type RealDir struct {
	Dir Bytes `json:"dir"`
}

// Command is a command to look up or to start. A lookup uses Args, Dir, Env and Shell, and its answer is Reply.Found.
type Command struct {
	Path  Bytes   `json:"path,omitempty"`
	Args  []Bytes `json:"args"`
	Dir   Bytes   `json:"dir"`
	Env   []Bytes `json:"env"`
	Shell Bytes   `json:"shell,omitempty"` // the shell line, or empty
}

// Start starts a command. Its answer is Reply.Started, and the events of the process follow.
type Start struct {
	Process uint64  `json:"process"` // a number on this connection, chosen by the Runner and used once
	Command Command `json:"command"`
	Pin     string  `json:"pin,omitempty"` // Found.Pin; if empty, any file is accepted
	Limits  []Limit `json:"limits,omitempty"`
	// MarkName and MarkValue are the variable that identifies processes outside the session.
	MarkName  string `json:"markName"`
	MarkValue string `json:"markValue"`
	PTY       *Size  `json:"pty,omitempty"`   // of the terminal, or nil if the output is a pipe
	Stdin     bool   `json:"stdin,omitempty"` // the standard input is a pipe
	// Sandbox confines the command with bubblewrap, unless it is nil.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
}

// Sandbox has the fields of bubblewrap.Options, and the directories that the session's commands may write to.
type Sandbox struct {
	Network         bool    `json:"network,omitempty"`
	Writable        []Bytes `json:"writable,omitempty"`
	ReadOnly        []Bytes `json:"readOnly,omitempty"`
	Hidden          []Bytes `json:"hidden,omitempty"`
	NoSyscallFilter bool    `json:"noSyscallFilter,omitempty"`
	Roots           []Bytes `json:"roots,omitempty"`
}

// Size is the size of a PTY in characters, each number from 1 to 1000.
type Size struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// MaxInput is the maximum number of bytes in an Input.
const MaxInput = 64 << 10

// Input is input for a process whose standard input is a PTY or a pipe. The Runner sends the next one after the reply,
// which has Reply.Taken, and Reply.Over once the command has exited or the pipe is closed. The helper replies to earlier
// input before it sends Exit.
type Input struct {
	Process uint64 `json:"process"`
	Bytes   Bytes  `json:"bytes"`
}

// Resize changes the size of a process's PTY.
type Resize struct {
	Process uint64 `json:"process"`
	Size    Size   `json:"size"`
}

// Limit is a requested limit (Name, Value), or an enforced one.
type Limit struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"` // in the unit of the acpterm.Limits field; seconds for CPUTime
	By    string `json:"by,omitempty"`
	Tree  bool   `json:"tree,omitempty"`
}

// Process identifies a process by its number on this connection.
type Process struct {
	Process uint64 `json:"process"`
}

// Signal sends a signal to the whole tree.
type Signal struct {
	Process uint64 `json:"process"`
	Name    string `json:"name"` // the POSIX name, such as "SIGTERM"
}

// Answer is a message of the helper: first the Hello, then a Reply to each request with an ID, and events. Exactly one
// of the pointers is set.
type Answer struct {
	Hello  *Hello   `json:"hello,omitempty"`
	Reply  *Reply   `json:"reply,omitempty"`
	Exit   *Exit    `json:"exit,omitempty"`   // sent after all output of the command itself
	Gone   *Process `json:"gone,omitempty"`   // the tree is gone; sent after Exit
	Ended  *Process `json:"ended,omitempty"`  // no process can write any more: the end of the output
	Closed *Process `json:"closed,omitempty"` // answers Request.Close; nothing more about the process follows
}

// Hello is the first message on a connection.
type Hello struct {
	Version int     `json:"version"` // the helper's Version
	System  string  `json:"system"`  // Go's name, such as "linux"
	Arch    string  `json:"arch"`    // Go's name, such as "amd64"
	Dir     Bytes   `json:"dir"`     // the home directory, or else the working directory
	Env     Environ `json:"env"`     // the environment; each name occurs once
}

// Environ contains the variables of a Hello.
type Environ []Bytes

// maxEnviron is the maximum number of variables in a Hello: an empty one needs ten times as much memory as its JSON.
const maxEnviron = 64 << 10

// UnmarshalJSON fails if there are too many variables, before it allocates memory for them.
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

// Reply answers the request with the same ID, with Error or with the result.
type Reply struct {
	ID      uint64   `json:"id"`
	Error   *Error   `json:"error,omitempty"`
	Dir     Bytes    `json:"dir,omitempty"`
	Found   *Found   `json:"found,omitempty"`
	Started *Started `json:"started,omitempty"`
	Taken   int      `json:"taken,omitempty"` // bytes of Input
	Over    bool     `json:"over,omitempty"`
	List    *List    `json:"list,omitempty"`
}

// List has the running processes of a tree, in the order of their PIDs.
type List struct {
	Processes []Member `json:"processes,omitempty"`
	// Missing says what could not be read or has no room, or is empty. Unsupported means that the system does not tell.
	Missing     string `json:"missing,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// MaxCommand is the maximum number of bytes in Member.Command.
const MaxCommand = 4 << 10

// Member is a process, as in acpterm.ProcessInfo.
type Member struct {
	PID        int              `json:"pid"`
	Parent     int              `json:"parent"`
	Command    Bytes            `json:"command,omitempty"`
	CPUTime    time.Duration    `json:"cpu,omitempty"` // in nanoseconds
	Memory     int64            `json:"memory,omitempty"`
	Runnable   bool             `json:"runnable,omitempty"`
	ReadsInput bool             `json:"reads,omitempty"`
	PollsInput bool             `json:"polls,omitempty"`
	Listening  []netip.AddrPort `json:"listening,omitempty"`
}

// Found contains the program and the directory, without symbolic links.
type Found struct {
	Path Bytes  `json:"path"`
	Name Bytes  `json:"name"` // the last element of the path before links were resolved
	Dir  Bytes  `json:"dir"`
	Pin  string `json:"pin"` // for Start
}

// Started is a running command.
type Started struct {
	PID    int     `json:"pid"`
	Limits []Limit `json:"limits,omitempty"`
}

// Exit reports the end of a command.
type Exit struct {
	Process uint64 `json:"process"`
	Code    uint32 `json:"code"`
	Signal  string `json:"signal,omitempty"` // if set, Code is meaningless
	// Unknown is the reason why the exit status is not known. If empty, it is known.
	Unknown string `json:"unknown,omitempty"`
}

// Error corresponds to an acpterm.Error.
type Error struct {
	Kind   string `json:"kind"` // an acpterm.Kind
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Cause  string `json:"cause,omitempty"` // the text of Error.Err
}
