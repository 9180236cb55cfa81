package wire

// Lines as a jsonrpc2.ObjectStream.

import "encoding/json"

// Objects makes a Lines a jsonrpc2.ObjectStream.
type Objects struct{ *Lines }

// ReadObject reads the next message into v. It returns io.EOF at the end of the connection.
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
