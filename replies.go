package acpterm

// Results as JSON, the frequent ones without reflection, and the output of a terminal as internal/wire reads it.

import (
	"encoding/json"
	"strconv"

	"github.com/acpterm/acpterm/internal/wire"
)

// appendJSON appends a result as json.Marshal encodes it.
func appendJSON(to []byte, result any) []byte {
	switch r := result.(type) {
	case KillTerminalResponse:
		if r.Meta == nil {
			return append(to, "{}"...)
		}
	case ReleaseTerminalResponse:
		if r.Meta == nil {
			return append(to, "{}"...)
		}
	case CreateTerminalResponse:
		if r.Meta == nil { // ids that a Manager generates need no escaping
			return append(append(append(to, `{"terminalId":"`...), r.TerminalID...), `"}`...)
		}
	case WaitForTerminalExitResponse:
		return appendStatus(to, TerminalExitStatus(r))
	}
	return appendMarshaled(to, result)
}

// appendMarshaled appends a value of a type of this package, which can be encoded.
func appendMarshaled(to []byte, value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return append(to, encoded...)
}

// appendStatus appends an exit status as json.Marshal encodes it.
func appendStatus(to []byte, s TerminalExitStatus) []byte {
	to = append(to, `{"exitCode":`...)
	if s.ExitCode != nil {
		to = strconv.AppendUint(to, uint64(*s.ExitCode), 10)
	} else {
		to = append(to, "null"...)
	}
	to = append(to, `,"signal":`...)
	if s.Signal != nil {
		to = appendMarshaled(to, *s.Signal)
	} else {
		to = append(to, "null"...)
	}
	if len(s.Meta) > 0 {
		to = append(to, `,"_meta":`...)
		if endedBy := s.Meta["acpterm"]; len(s.Meta) == 1 && endedBy != nil { // as a Terminal sets it
			to = append(append(append(to, `{"acpterm":`...), endedBy...), '}')
		} else {
			to = appendMarshaled(to, s.Meta)
		}
	}
	return append(to, '}')
}

// terminalOutput is a terminal's output as polls read it.
type terminalOutput struct{ t *Terminal }

func (o terminalOutput) Total() int64                        { return o.t.ring.total() }
func (o terminalOutput) Text() (text string, truncated bool) { return o.t.ring.last(o.t.limit) }

func (o terminalOutput) Window(raw []byte, known int64, size int) wire.Window {
	return o.t.ring.window(raw, o.t.limit, known, size)
}

func (o terminalOutput) ExitStatus() []byte {
	if status := o.t.exitStatusIfEnded(); status != nil {
		return appendStatus(nil, *status)
	}
	return nil
}
