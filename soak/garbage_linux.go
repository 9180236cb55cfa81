package main

// A connection with garbage and valid requests.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// garbage counts valid requests without a correct answer. Its count is the number of garbage lines.
func garbage(r *run) {
	r.zero("valid requests not answered", "garbage answered with a result", "trees with some left")
	s, closeAll := r.serve(acpterm.Options{})
	defer closeAll()
	w, err := newWire(s.m, func(id string, line []byte) {
		var a answer
		if json.Unmarshal(line, &a) == nil && len(a.Result) > 0 {
			r.fail("garbage answered with a result", 1, "%.200s", line)
		}
	})
	if err != nil {
		r.fail("valid requests not answered", 1, "%v", err)
		return
	}
	var valid sync.WaitGroup
	over := make(chan struct{})
	for c := range min(4, r.procs) {
		valid.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				case <-time.After(2 * time.Millisecond): // so that there is garbage in between
				}
				t := r.tree(c<<24 + i)
				if err := validRequests(w, t); err != nil {
					r.fail("valid requests not answered", 1, "%v", err)
					return
				}
				r.note("valid requests", 4)
				r.check(t, nil, "released")
				r.mu.Lock()
				delete(r.trees, t.mark)
				r.mu.Unlock()
			}
		})
	}
	rnd := rand.New(rand.NewPCG(r.seed, 0))
	for lines := 0; lines < r.count && !r.late(); lines += 100 {
		var b bytes.Buffer
		for range min(100, r.count-lines) {
			b.WriteString(garbageLine(rnd))
			b.WriteByte('\n')
			r.done.Add(1)
		}
		if err := writeWithin(w, b.Bytes()); err != nil {
			r.fail("valid requests not answered", 1, "the connection takes no more lines: %v", err)
			break
		}
	}
	close(over)
	valid.Wait()
	w.close()
	if w.readErr != nil {
		r.fail("valid requests not answered", 1, "%v", w.readErr)
	}
}

// writeWithin writes lines. It fails if the other end has not read them within a minute.
func writeWithin(w *wire, lines []byte) error {
	w.to.SetWriteDeadline(time.Now().Add(time.Minute))
	return w.write(lines)
}

// validRequests sends the requests of one terminal's life.
func validRequests(w *wire, t *tree) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var created acpterm.CreateTerminalResponse
	if err := w.call(ctx, acpterm.MethodCreate, t.command("sh", "-c", "printf hello"), &created); err != nil {
		return err
	}
	var status acpterm.TerminalExitStatus
	subject := acpterm.TerminalRequest{SessionID: t.session, TerminalID: created.TerminalID}
	if err := w.call(ctx, acpterm.MethodWaitForExit, subject, &status); err != nil {
		return err
	}
	var out acpterm.TerminalOutputResponse
	if err := w.call(ctx, acpterm.MethodOutput, subject, &out); err != nil {
		return err
	}
	if out.Output != "hello" || !status.Success() {
		return fmt.Errorf("output %q, %v", out.Output, status)
	}
	var released struct{}
	return errors.Join(w.call(ctx, acpterm.MethodRelease, subject, &released))
}

// garbageLine returns a line without a request that could be served.
func garbageLine(rnd *rand.Rand) string {
	methods := []string{"terminal/create", "terminal/output", "terminal/kill", "terminal/release",
		"terminal/wait_for_exit", "terminal/none", "", "$/cancel_request", "initialize"}
	values := []string{"null", "[]", "{}", "1", "-1", "1e400", "18446744073709551616", `"x"`, `"\ud800"`, "true",
		"[[[]]]", `{"a":{"a":{}}}`,
		`{"sessionId":1}`, `{"sessionId":"s"}`, `{"sessionId":"s","command":null}`, `{"sessionId":"s","command":""}`,
		`{"sessionId":"s","command":"/nowhere/true","cwd":"relative"}`, `{"sessionId":"s","command":"true","args":"x"}`,
		`{"sessionId":"s","command":"/nowhere/true","env":[{"name":"A=B","value":""}]}`,
		`{"sessionId":"s","terminalId":"term_x"}`,
		`{"sessionId":"s","command":"/nowhere/to/be/found"}`, `{"requestId":"g1"}`,
		`{"sessionId":"s","command":"a\u0000b"}`}
	value := func() string { return values[rnd.IntN(len(values))] }
	asking := func(params string) string {
		method := methods[rnd.IntN(len(methods))]
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, value(), method, params)
	}
	request := func() string { return asking(value()) }
	switch rnd.IntN(12) {
	case 0: // bytes
		b := make([]byte, rnd.IntN(200))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return strings.ReplaceAll(string(b), "\n", " ")
	case 1:
		return value()
	case 2: // part of a request
		whole := request()
		return whole[:rnd.IntN(len(whole))]
	case 3: // a request with one byte changed, which cannot turn it into a runnable command
		b := []byte(asking(`{"sessionId":"s","terminalId":"term_x"}`))
		b[rnd.IntN(len(b))] = byte(0x20 + rnd.IntN(0x5f))
		return string(b)
	case 4: // a response to nothing
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, value(), value())
	case 5:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, value(), value())
	case 6: // a notification
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, methods[rnd.IntN(len(methods))], value())
	case 7:
		return "[" + request() + "," + request() + "]"
	case 8:
		if rnd.IntN(100) == 0 {
			return strings.Repeat("[", 10_000)
		}
		return ""
	case 9:
		if rnd.IntN(2000) == 0 {
			params := strings.Repeat("x", 1<<20)
			return `{"jsonrpc":"2.0","id":"long","method":"terminal/create","params":"` + params + `"}`
		}
		return "log: something happened"
	}
	return request()
}
