package mcpserver

// The arguments and the results of the tools. The SDK derives their schemas from these types.

import (
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

type runInput struct {
	Command      string            `json:"command"`
	Args         []string          `json:"args,omitempty"`
	Cwd          string            `json:"cwd,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Description  string            `json:"description,omitempty"`
	WaitMS       *int64            `json:"wait_ms,omitempty"`
	KillOnCancel bool              `json:"kill_on_cancel,omitempty"`
	PTY          bool              `json:"pty,omitempty"`
	Stdin        bool              `json:"stdin,omitempty"`
	MaxBytes     int               `json:"max_bytes,omitempty"`
}

// runSchema describes the arguments of run. Relative working directories refer to dir, unless it is empty.
func runSchema(dir string) *jsonschema.Schema {
	cwd := "The working directory, or a path relative to the default one."
	if dir == "" {
		cwd = "The working directory, an absolute path."
	}
	return schema[runInput](map[string]string{
		"command":        `A shell line such as "npm test 2>&1 | tail", or a program's name or path if args are given.`,
		"args":           "The program's arguments. With them, no shell is used.",
		"cwd":            cwd,
		"env":            "Environment variables to set.",
		"description":    "What the command is for, in a few words.",
		"wait_ms":        "The longest wait in milliseconds, by default 30000. With 0, run returns once it has started.",
		"kill_on_cancel": "Kill the command if this call is cancelled.",
		"pty":            "Run it on a PTY that write types into: for prompts, REPLs, editors. The user may be asked.",
		"stdin":          "Run it with a pipe that write writes to, without a PTY. The user may be asked.",
		"max_bytes":      aboutMaxBytes,
	})
}

const (
	aboutID       = "The command's id."
	aboutMaxBytes = "The most bytes of output to return."
	aboutOffset   = "Where to begin, usually next_offset of an earlier result. Negative counts from the end."
	aboutWait     = "The longest wait in milliseconds, by default 30000."
)

type waitInput struct {
	ID          string `json:"id"`
	WaitMS      *int64 `json:"wait_ms,omitempty"`
	Until       string `json:"until,omitempty"`
	UntilRegexp string `json:"until_regexp,omitempty"`
	Offset      *int64 `json:"offset,omitempty"`
	MaxBytes    int    `json:"max_bytes,omitempty"`
}

func waitSchema() *jsonschema.Schema {
	return schema[waitInput](map[string]string{
		"id":           aboutID,
		"wait_ms":      aboutWait,
		"until":        "Text to wait for, within one line of the output from offset on.",
		"until_regexp": "A regular expression (RE2) to wait for, in one line from offset on.",
		"offset":       aboutOffset,
		"max_bytes":    aboutMaxBytes,
	})
}

type writeInput struct {
	ID     string   `json:"id"`
	Text   string   `json:"text,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	Close  bool     `json:"close,omitempty"`
	WaitMS *int64   `json:"wait_ms,omitempty"`
}

func writeSchema() *jsonschema.Schema {
	return schema[writeInput](map[string]string{
		"id":      aboutID,
		"text":    "Text to type. A line feed is the key enter.",
		"keys":    "Keys to press after the text: enter, tab, esc, up, down, ctrl-c, ctrl-d and so on.",
		"close":   "Close the pipe of stdin afterwards.",
		"wait_ms": "The longest wait in milliseconds, by default 5000.",
	})
}

type outputInput struct {
	ID       string `json:"id"`
	Offset   int64  `json:"offset,omitempty"`
	Show     string `json:"show,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

func outputSchema() *jsonschema.Schema {
	s := schema[outputInput](map[string]string{
		"id":        aboutID,
		"offset":    aboutOffset,
		"show":      "What to show of long output: its ends (the default), its start, to read on without gaps, or its end.",
		"max_bytes": aboutMaxBytes,
	})
	s.Properties["show"].Enum = []any{"ends", "start", "end"}
	return s
}

type idInput struct {
	ID string `json:"id"`
}

func idSchema() *jsonschema.Schema { return schema[idInput](map[string]string{"id": aboutID}) }

type listInput struct{}

// commandResult is the state of a command, and an excerpt of its output. What says nothing to a model is left out.
type commandResult struct {
	ID                string   `json:"id"`
	State             string   `json:"state"`
	ExitCode          *uint32  `json:"exit_code,omitempty"`
	Signal            string   `json:"signal,omitempty"`
	EndedBy           string   `json:"ended_by,omitempty"`
	RunMS             int64    `json:"run_ms,omitempty"`
	MovedToBackground bool     `json:"moved_to_background,omitempty"`
	WaitsForInput     bool     `json:"waits_for_input,omitempty"`
	Listening         []string `json:"listening,omitempty"`
	Matched           *bool    `json:"matched,omitempty"`
	MatchedLine       string   `json:"matched_line,omitempty"`
	Output            string   `json:"output"`
	Offset            int64    `json:"offset,omitempty"`
	NextOffset        int64    `json:"next_offset,omitempty"`
	OmittedBytes      int64    `json:"omitted_bytes,omitempty"`
	LostBytes         int64    `json:"lost_bytes,omitempty"`
	More              bool     `json:"more,omitempty"`
}

func commandSchema() *jsonschema.Schema {
	s := schema[commandResult](map[string]string{
		"id":                  "The id of the command, for the other tools.",
		"state":               "Whether the command is running, has ended or could not be started.",
		"exit_code":           "The exit code, if the command has exited.",
		"signal":              "The signal that ended the command, if one did, such as SIGTERM.",
		"waits_for_input":     "Whether the running command waits for input.",
		"listening":           "Where the running command accepts connections, as URLs.",
		"ended_by":            `Why the command has ended, unless by itself: "killed", "timed_out", "idle", "stopped_by_user" and so on.`,
		"run_ms":              "How long the command has been running, in milliseconds, if that is long.",
		"moved_to_background": "Whether the user has moved the running command to the background: do not wait for it.",
		"matched":             "Whether a line matched, if the call waited for one.",
		"matched_line":        "The line that matched, if output does not show it.",
		"output":              "Output without escape sequences and overwritten text. Each cut is marked.",
		"offset":              "Where output begins, in bytes written by the command, if the call had an offset.",
		"next_offset":         "Where to read on, if there is or may be more output.",
		"omitted_bytes":       "The number of bytes left out, although they are kept.",
		"lost_bytes":          "The number of bytes that are no longer kept.",
		"more":                "Whether there is output at next_offset already.",
	})
	s.Properties["state"].Enum = states()
	return s
}

func states() []any { return []any{"starting", "running", "ended", "failed"} }

type releaseResult struct {
	ID string `json:"id"`
}

func releaseSchema() *jsonschema.Schema {
	return schema[releaseResult](map[string]string{"id": "The id, which is unknown from now on."})
}

type listResult struct {
	Commands []listedCommand `json:"commands"`
	Omitted  int             `json:"omitted,omitempty"`
}

type listedCommand struct {
	ID          string  `json:"id"`
	Command     string  `json:"command"`
	Cwd         string  `json:"cwd,omitempty"`
	Description string  `json:"description,omitempty"`
	State       string  `json:"state"`
	ExitCode    *uint32 `json:"exit_code,omitempty"`
	Signal      string  `json:"signal,omitempty"`
	RunMS       int64   `json:"run_ms"`
	OutputBytes int64   `json:"output_bytes"`
}

func listSchema() *jsonschema.Schema {
	s := schema[listResult](map[string]string{
		"commands": "The commands, the oldest first.",
		"omitted":  "The number of older commands that are not listed.",
	})
	s.Properties["commands"].Items.Properties["state"].Enum = states()
	return s
}

// schema returns the schema of a type with descriptions of its properties. It panics if they do not fit: that is a
// mistake in this file.
func schema[T any](about map[string]string) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil || len(about) != len(s.Properties) {
		panic(fmt.Sprintf("%T has %d descriptions: %v", *new(T), len(about), err))
	}
	for name, property := range s.Properties {
		property.Description = about[name]
	}
	withoutNull(s)
	return s
}

// withoutNull removes null from the types in a schema: some models accept only one type. See dropNulls.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	for _, property := range s.Properties {
		withoutNull(property)
	}
	withoutNull(s.Items)
}
