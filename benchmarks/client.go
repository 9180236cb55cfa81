package main

// A client as a process of its own, and the agent's end of the connection to it.

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
)

// goClients are the clients that this program can be.
func goClients() map[string]func(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	return map[string]func(io.ReadWriteCloser) (<-chan struct{}, error){
		"acpterm": serveAcpterm,
		"naive":   serveNaive,
		"Go SDK":  serveGoSDK,
	}
}

// client is a command that serves terminals on its standard input and output.
func (s settings) client(name string) (command, error) {
	if name == "Node" {
		return nodeCommand()
	}
	return self("client", name, s.profiles.cpu, s.profiles.allocs, s.profiles.blocking), nil
}

// serveClient NAME CPUPROFILES ALLOCPROFILES BLOCKPROFILES: one of the Go clients, until its standard input ends.
func serveClient(args []string) error {
	stop, err := profilesOf(args[1:]).begin("client-" + args[0])
	if err != nil {
		return err
	}
	stdin, stdout := pollableStdio()
	ended, err := goClients()[args[0]](acpterm.JoinStdio(stdin, stdout))
	if err != nil {
		return err
	}
	<-ended
	return stop()
}

// process is a running client, or a floor that is a process too. It is for one goroutine.
type process struct {
	pid      int
	toIt     io.Writer
	fromIt   *bufio.Reader
	requests int
}

// longestLine is how long a line from a client may be.
const longestLine = 8 << 20

// start starts a client or a floor, which must end when its standard input does.
func (s *stage) start(c command) (*process, error) {
	cmd := c.cmd()
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

// end closes a process's standard input, and kills it if that does not end it.
func end(cmd *exec.Cmd, stdin io.Closer) error {
	stdin.Close()
	timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait()
}

// startClient starts one of the clients.
func (s *stage) startClient(name string) (*process, error) {
	c, err := s.client(name)
	if err != nil {
		return nil, err
	}
	return s.start(c)
}

// exchange writes a line and returns the one that comes back, which is good until the next exchange.
func (p *process) exchange(line []byte) ([]byte, error) {
	if _, err := p.toIt.Write(line); err != nil {
		return nil, err
	}
	return p.fromIt.ReadSlice('\n')
}

// request is a line.
func (p *process) request(method string, params any) []byte {
	p.requests++
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", p.requests, method, raw)
}

// reply is what comes back.
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

// terminal is params that name one.
type terminal struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

// create has the client start a command.
func (p *process) create(c command) (terminal, error) {
	t := terminal{SessionID: "s"}
	err := p.call(acpterm.MethodCreate, createParams(c), &t)
	return t, err
}

func createParams(c command) map[string]any {
	return map[string]any{"sessionId": "s", "command": c.path, "args": c.args, "outputByteLimit": 1 << 20}
}

// run has a client run a command to its end, and says how long that took from its create to its exit.
func (p *process) run(c command) (time.Duration, error) {
	begin := time.Now()
	t, err := p.create(c)
	if err != nil {
		return 0, err
	}
	var status struct{ ExitCode *int }
	if err := p.call(acpterm.MethodWaitForExit, t, &status); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if status.ExitCode == nil || *status.ExitCode != 0 {
		return 0, fmt.Errorf("%v has not ended well", c)
	}
	return took, p.call(acpterm.MethodRelease, t, new(struct{}))
}

// runMany has a client run a command many times, from its create to its release, with so many under way at once.
func (p *process) runMany(c command, times, atOnce int) error {
	awaited := make(map[int]func(r reply) error)
	left, done := times, 0
	send := func(method string, params any, then func(r reply) error) error {
		line := p.request(method, params)
		awaited[p.requests] = then
		_, err := p.toIt.Write(line)
		return err
	}
	var begin func() error
	begin = func() error {
		left--
		return send(acpterm.MethodCreate, createParams(c), func(r reply) error {
			t := terminal{SessionID: "s"}
			if err := json.Unmarshal(r.Result, &t); err != nil {
				return err
			}
			return send(acpterm.MethodWaitForExit, t, func(reply) error {
				return send(acpterm.MethodRelease, t, func(reply) error {
					if done++; left > 0 {
						return begin()
					}
					return nil
				})
			})
		})
	}
	for range min(atOnce, times) {
		if err := begin(); err != nil {
			return err
		}
	}
	for done < times {
		line, err := p.fromIt.ReadSlice('\n')
		if err != nil {
			return err
		}
		r, err := readReply(line)
		if err != nil {
			return err
		}
		then := awaited[r.ID]
		delete(awaited, r.ID)
		if then == nil {
			return fmt.Errorf("an answer to no request: %s", line)
		}
		if err := then(r); err != nil {
			return err
		}
	}
	return nil
}
