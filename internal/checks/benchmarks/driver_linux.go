package main

// The agent's side of the connection: it starts the client, makes requests and checks the answers.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// session is the agent's session, and further are two more: by default, a session has at most 1,024 terminals.
const session = "s"

func further() []string { return []string{"s2", "s3"} }

// process is a running client. Only one goroutine at a time may call its methods.
type process struct {
	pid      int
	toIt     io.Writer
	fromIt   *bufio.Reader
	requests int
}

// longestLine is the maximum length of a line from a client.
const longestLine = 8 << 20

// start starts a client. The client ends when its standard input is closed.
func (s *stage) start(subject string) (*process, error) {
	line := bench.Self("client", subject)
	if subject == node {
		var err error
		if line, err = nodeCommand(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.after(func() error { return end(cmd, stdin) })
	return &process{pid: cmd.Process.Pid, toIt: stdin, fromIt: bufio.NewReaderSize(stdout, longestLine)}, nil
}

// end closes the standard input of a process, and kills the process if it does not end within 20 seconds.
func end(cmd *exec.Cmd, stdin io.Closer) error {
	stdin.Close()
	timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait()
}

// exchange writes a line and returns the answering line, which is valid until the next exchange.
func (p *process) exchange(line []byte) ([]byte, error) {
	if _, err := p.toIt.Write(line); err != nil {
		return nil, err
	}
	return p.fromIt.ReadSlice('\n')
}

// request returns a request as a line.
func (p *process) request(method string, params any) []byte {
	p.requests++
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", p.requests, method, raw)
}

// reply is an answer to a request.
type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func readReply(line []byte) (r reply, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	if r.Error != nil {
		return r, fmt.Errorf("the client says %s", bytes.TrimSpace(line))
	}
	return r, nil
}

// call makes a request and reads the result.
func (p *process) call(method string, params, result any) error {
	line, err := p.exchange(p.request(method, params))
	if err != nil {
		return err
	}
	r, err := readReply(line)
	if err != nil {
		return err
	}
	return json.Unmarshal(r.Result, result)
}

// terminal holds the params that identify a terminal.
type terminal struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

// create makes the client start a command.
func (p *process) create(line ...string) (terminal, error) { return p.createIn(session, line) }

func (p *process) createIn(session string, line []string) (terminal, error) {
	t, params := terminal{SessionID: session}, createParams(line)
	params["sessionId"] = session
	err := p.call(acpterm.MethodCreate, params, &t)
	return t, err
}

// outputLimit is the number of output bytes that each client is asked to keep for a command.
const outputLimit = 1 << 20

func createParams(line []string) map[string]any {
	return map[string]any{"sessionId": session, "command": line[0], "args": line[1:], "outputByteLimit": outputLimit}
}

// exited fails unless the result of a wait has exit code 0.
func exited(result []byte) error {
	var status struct{ ExitCode *int }
	if err := json.Unmarshal(result, &status); err != nil {
		return err
	}
	if status.ExitCode == nil || *status.ExitCode != 0 {
		return fmt.Errorf("a command that succeeded has the exit status %s", result)
	}
	return nil
}

// wait waits for the command to end. It fails unless the command succeeds.
func (p *process) wait(t terminal) error {
	var status json.RawMessage
	if err := p.call(acpterm.MethodWaitForExit, t, &status); err != nil {
		return err
	}
	return exited(status)
}

// output returns the result of terminal/output.
func (p *process) output(t terminal) (text string, truncated bool, err error) {
	var out struct {
		Output    string
		Truncated bool
	}
	err = p.call(acpterm.MethodOutput, t, &out)
	return out.Output, out.Truncated, err
}

func (p *process) release(t terminal) error { return p.call(acpterm.MethodRelease, t, new(struct{})) }

// runMany makes a client run a command several times, from create to release. At most atOnce commands run concurrently.
func (p *process) runMany(line []string, times, atOnce int) error {
	m := many{process: p, line: line, left: times, awaited: make(map[int]func(json.RawMessage) error)}
	for range min(atOnce, times) {
		if err := m.begin(); err != nil {
			return err
		}
	}
	return m.answers()
}

// answers reads answers until none is awaited.
func (m *many) answers() error {
	for len(m.awaited) > 0 {
		line, err := m.fromIt.ReadSlice('\n')
		if err != nil {
			return err
		}
		r, err := readReply(line)
		if err != nil {
			return err
		}
		then := m.awaited[r.ID]
		delete(m.awaited, r.ID)
		if then == nil {
			return fmt.Errorf("an answer to no request: %s", line)
		}
		if err := then(r.Result); err != nil {
			return err
		}
	}
	return nil
}

// many is a set of running and pending commands.
type many struct {
	*process
	line    []string
	left    int
	awaited map[int]func(result json.RawMessage) error // handlers of the answers, by request id
}

func (m *many) send(method string, params any, then func(json.RawMessage) error) error {
	line := m.request(method, params)
	m.awaited[m.requests] = then
	_, err := m.toIt.Write(line)
	return err
}

// begin starts a command. When it is released, the next one starts.
func (m *many) begin() error {
	m.left--
	return m.send(acpterm.MethodCreate, createParams(m.line), func(result json.RawMessage) error {
		t := terminal{SessionID: session}
		if err := json.Unmarshal(result, &t); err != nil {
			return err
		}
		return m.send(acpterm.MethodWaitForExit, t, func(result json.RawMessage) error {
			if err := exited(result); err != nil {
				return err
			}
			return m.send(acpterm.MethodRelease, t, func(json.RawMessage) error {
				if m.left == 0 {
					return nil
				}
				return m.begin()
			})
		})
	})
}
