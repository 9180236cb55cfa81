package agent

// The results of requests. They are read as ACP's schema says: required properties must be present, and properties
// marked x-deserialize-default-on-error count as absent if they have another type.

import (
	"encoding/json"
	"errors"

	"github.com/acpterm/acpterm"
)

// members are an object's properties. Map keys are case-sensitive, but encoding/json matches struct fields in any case.
type members map[string]json.RawMessage

// readMembers reads an object. It returns nil if the data has another type.
func readMembers(data *json.RawMessage) (m members) {
	if data == nil || json.Unmarshal(*data, &m) != nil {
		return nil
	}
	return m
}

// lenient returns a property, or nil if it is absent, null or of another type.
func lenient[T any](m members, name string) *T {
	var v *T
	if json.Unmarshal(m[name], &v) != nil {
		return nil
	}
	return v
}

// required returns a property, or an error if lenient returns nil.
func required[T any](m members, name, want string) (v T, err error) {
	p := lenient[T](m, name)
	if p == nil {
		return v, errors.New(name + " must be " + want)
	}
	return *p, nil
}

func (m members) meta() acpterm.Meta {
	if meta := lenient[acpterm.Meta](m, "_meta"); meta != nil {
		return *meta
	}
	return nil
}

var errNoObject = errors.New("the result must be an object")

func readCreated(result json.RawMessage) (acpterm.TerminalID, error) {
	m := readMembers(&result)
	if m == nil {
		return "", errNoObject
	}
	return required[acpterm.TerminalID](m, "terminalId", "a string")
}

func readOutput(result json.RawMessage) (out acpterm.TerminalOutputResponse, err error) {
	m := readMembers(&result)
	if m == nil {
		return out, errNoObject
	}
	if out.Output, err = required[string](m, "output", "a string"); err != nil {
		return out, err
	}
	if out.Truncated, err = required[bool](m, "truncated", "a boolean"); err != nil {
		return out, err
	}
	exit := m["exitStatus"]
	if e := readMembers(&exit); e != nil {
		out.ExitStatus = new(e.exitStatus())
	}
	out.Meta = m.meta()
	return out, nil
}

func readExit(result json.RawMessage) (acpterm.TerminalExitStatus, error) {
	m := readMembers(&result)
	if m == nil {
		return acpterm.TerminalExitStatus{}, errNoObject
	}
	return m.exitStatus(), nil
}

func (m members) exitStatus() acpterm.TerminalExitStatus {
	return acpterm.TerminalExitStatus{
		ExitCode: lenient[uint32](m, "exitCode"),
		Signal:   lenient[string](m, "signal"),
		Meta:     m.meta(),
	}
}
