package wire

// The lines of a connection for jsonrpc2.

import "encoding/json"

// Objects is a jsonrpc2.ObjectStream of Lines.
type Objects struct{ *Lines }

// ReadObject reads the next message into v. At the end of the connection it returns io.EOF.
func (o Objects) ReadObject(v any) error {
	m, err := o.Read()
	if err != nil {
		return err
	}
	if into, ok := v.(json.Unmarshaler); ok {
		return into.UnmarshalJSON(m.Line)
	}
	return json.Unmarshal(m.Line, v)
}

// WriteObject writes v as one line.
func (o Objects) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return o.WriteMessage(line)
}
