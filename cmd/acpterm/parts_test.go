package main

// Whom the test binary plays: commands, and agents that do what the example agent never would.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

var parts = map[string]func(args []string){
	"print":  func(args []string) { fmt.Println(strings.Join(args, " ")) },
	"write":  func(args []string) { os.Stdout.WriteString(args[0]) },
	"exit":   exitWith,
	"where":  printDirectory,
	"steps":  printSteps,
	"sleep":  sleep,
	"endure": endure,

	"agent-that-dies":            func([]string) { play(dieInTurn) },
	"agent-that-dies-first":      func([]string) { os.Exit(3) },
	"agent-that-stays":           func([]string) { play(leaveRunning); ignoreEverything() },
	"agent-that-ignores-cancel":  func([]string) { play(ignoreCancel) },
	"agent-that-asks":            func([]string) { play(askForAll) },
	"agent-that-asks-cancelled":  func([]string) { play(askWhenCancelled) },
	"agent-that-looks":           func(args []string) { play(lookAtOutput(args)) },
	"agent-that-tries":           func(args []string) { play(try(args)) },
	"agent-that-waits":           func(args []string) { play(wait(args[0], try(args[1:]))) },
	"agent-that-cannot-wait":     createBeforePrompt,
	"agent-that-is-newer":        func([]string) { serve(2, nil) },
	"agent-that-stops-listening": stopListening,
	"agent-that-disguises":       func([]string) { play(disguise) },
	"agent-that-shouts":          func(args []string) { play(write(os.Stderr, args[0])) },
	"agent-that-prints":          func(args []string) { play(write(os.Stdout, strings.Join(args, "\n")+"\n")) },
	"agent-that-runs-it-itself":  func(args []string) { play(sendUpdates(args)) },
}

// ---- Commands.

func exitWith(args []string) {
	code, _ := strconv.Atoi(args[0])
	os.Exit(code)
}

func printDirectory([]string) {
	dir, _ := os.Getwd()
	fmt.Println("in", dir)
}

// printSteps prints "step 1", and the next step when a file is there.
func printSteps(files []string) {
	for i, file := range files {
		fmt.Println("step", i+1)
		awaitFile(file)
	}
	fmt.Println("step", len(files)+1)
}

// awaitFile waits for a file, as a part. Many processes do so at once, so each looks rarely.
func awaitFile(path string) {
	for !exists(path) {
		time.Sleep(20 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sleep([]string) {
	fmt.Println("command", os.Getpid())
	time.Sleep(time.Hour)
}

// endure is sleep that does not end when it is asked to.
func endure([]string) {
	signal.Ignore(syscall.SIGTERM)
	sleep(nil)
}

// ---- Agents.

// script is an agent's turn. It returns the stop reason.
type script func(a *scripted) string

// scripted is an agent in its turn. What fails in it ends the process with a panic.
type scripted struct {
	conn         *jsonrpc2.Conn
	cancelled    chan struct{}
	capabilities map[string]any
	servers      []json.RawMessage // mcpServers of session/new
}

// play is an agent of version 1 whose every turn is the same. It returns when its input has ended.
func play(turn script) { serve(1, turn) }

func serve(protocolVersion int, turn script) { new(scripted).serve(protocolVersion, turn) }

func (a *scripted) serve(protocolVersion int, turn script) {
	a.cancelled = make(chan struct{})
	handle := func(_ context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		switch req.Method {
		case "initialize":
			return map[string]any{"protocolVersion": protocolVersion, "agentCapabilities": a.capabilities,
				"agentInfo": map[string]string{"name": "agent of tests"}}, nil
		case "session/new":
			var params struct{ MCPServers []json.RawMessage }
			if err := json.Unmarshal(*req.Params, &params); err != nil {
				return nil, err
			}
			a.servers = params.MCPServers
			return map[string]any{"sessionId": "s"}, nil
		case "session/prompt":
			reason := turn(a)
			if strings.Contains(reason, "\x1b") { // it is no stop reason
				return nil, errors.New(reason)
			}
			return map[string]any{"stopReason": reason}, nil
		case "session/cancel":
			close(a.cancelled)
			return nil, nil
		}
		return nil, errors.New(req.Method)
	}
	ready := make(chan struct{})
	a.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio{}), jsonrpc2.AsyncHandler(
		jsonrpc2.HandlerWithError(func(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			<-ready // a.conn is set
			return handle(ctx, conn, req)
		})))
	close(ready)
	<-a.conn.DisconnectNotify()
}

type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return nil }

func (a *scripted) call(method string, params, result any) {
	if err := a.conn.Call(context.Background(), method, params, result); err != nil {
		panic(fmt.Sprint(method, ": ", err))
	}
}

func (a *scripted) create(name string, args ...string) acpterm.TerminalRequest {
	var created acpterm.CreateTerminalResponse
	a.call(acpterm.MethodCreate, createParams("s", part(name, args...)...), &created)
	return acpterm.TerminalRequest{SessionID: "s", TerminalID: created.TerminalID}
}

// awaitOutput polls until a terminal has printed something.
func (a *scripted) awaitOutput(ref acpterm.TerminalRequest) {
	for {
		var now acpterm.TerminalOutputResponse
		if a.call(acpterm.MethodOutput, ref, &now); now.Output != "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (a *scripted) update(fields map[string]any) {
	if err := a.conn.Notify(context.Background(), "session/update", map[string]any{"sessionId": "s", "update": fields}); err != nil {
		panic(err)
	}
}

func (a *scripted) say(text string) {
	a.update(map[string]any{
		"sessionUpdate": "agent_message_chunk",
		"content":       map[string]string{"type": "text", "text": text},
	})
}

// dieInTurn has a command running, and exits.
func dieInTurn(a *scripted) string {
	a.awaitOutput(a.create("sleep"))
	os.Exit(3)
	return ""
}

// leaveRunning ends its turn and releases nothing.
func leaveRunning(a *scripted) string {
	a.say(fmt.Sprintf("agent %d\n", os.Getpid()))
	a.awaitOutput(a.create("sleep"))
	return "end_turn"
}

// ignoreEverything makes an agent one that stays when its input has ended.
func ignoreEverything() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	time.Sleep(time.Hour)
}

// ignoreCancel hears that it is cancelled, and goes on; and so does its command.
func ignoreCancel(a *scripted) string {
	a.awaitOutput(a.create("endure"))
	<-a.cancelled
	a.say("so what\n")
	select {}
}

// lookAtOutput runs a command in no particular directory and says what it sees of its output.
func lookAtOutput(command []string) script {
	return func(a *scripted) string {
		ref := a.create(command[0], command[1:]...)
		a.call(acpterm.MethodWaitForExit, ref, nil)
		var output acpterm.TerminalOutputResponse
		a.call(acpterm.MethodOutput, ref, &output)
		a.say(fmt.Sprintf("%q %v\n", output.Output, output.Truncated))
		return "end_turn"
	}
}

// try makes terminal/* requests, METHOD PARAMS METHOD PARAMS, and says how each is answered: with a code and a message,
// or, if it has made a terminal, with the output of that.
func try(requests []string) script {
	return func(a *scripted) string {
		for i := 0; i < len(requests); i += 2 {
			method, params := requests[i], json.RawMessage(requests[i+1])
			var created acpterm.CreateTerminalResponse
			err := a.conn.Call(context.Background(), method, params, &created)
			if refusal, ok := errors.AsType[*jsonrpc2.Error](err); ok {
				a.say(fmt.Sprintf("%s: %d %s\n", method, refusal.Code, refusal.Message))
				continue
			}
			ref := acpterm.TerminalRequest{SessionID: "s", TerminalID: created.TerminalID}
			a.call(acpterm.MethodWaitForExit, ref, nil)
			var output acpterm.TerminalOutputResponse
			a.call(acpterm.MethodOutput, ref, &output)
			a.say(fmt.Sprintf("%s: %q %v\n", method, output.Output, output.ExitStatus))
			a.call(acpterm.MethodRelease, ref, nil)
		}
		return "end_turn"
	}
}

// wait begins a turn when a file is there.
func wait(file string, turn script) script {
	return func(a *scripted) string {
		awaitFile(file)
		return turn(a)
	}
}

// write writes a text to standard error, or to standard output among its messages.
func write(to *os.File, text string) script {
	return func(*scripted) string {
		to.WriteString(text)
		return "end_turn"
	}
}

// disguise uses characters that turn text around, or look like nothing, wherever it has something to say.
func disguise(a *scripted) string {
	a.call("session/request_permission", map[string]any{
		"sessionId": "s",
		"toolCall":  map[string]string{"toolCallId": "c", "title": "Do \u202eit\u3164", "status": "un\u2066done\x1b[2J"},
		"options":   []map[string]string{{"optionId": "allow", "name": "allow\u2066", "kind": "allow_once"}},
	}, nil)
	a.say("said \u202eso\n")
	ref := a.create("print", "\u202ewritten")
	a.call(acpterm.MethodWaitForExit, ref, nil)
	a.call(acpterm.MethodRelease, ref, nil)
	return "a\x1b[2J\u202eb"
}

// askWhenCancelled asks for permission though its turn is being cancelled.
func askWhenCancelled(a *scripted) string {
	a.say("go ahead\n")
	<-a.cancelled
	var answer json.RawMessage
	a.call("session/request_permission", map[string]any{
		"sessionId": "s", "toolCall": map[string]string{"toolCallId": "c"},
		"options": []map[string]string{{"optionId": "allow", "name": "Allow", "kind": "allow_once"}},
	}, &answer)
	a.say(fmt.Sprintf("%s\n", answer))
	return "cancelled"
}

// askForAll asks for what the client does not have, and for permissions, and says what it is answered.
func askForAll(a *scripted) string {
	for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "no/such_method"} {
		err := a.conn.Call(context.Background(), method, map[string]string{"path": "/"}, nil)
		answer, _ := errors.AsType[*jsonrpc2.Error](err)
		a.say(fmt.Sprintf("%s: %d\n", method, answer.Code))
	}
	for _, kinds := range [][]string{{"reject_once", "allow_always", "allow_once"}, {"reject_once", "reject_always"}} {
		var options []map[string]string
		for _, kind := range kinds {
			options = append(options, map[string]string{"optionId": "id of " + kind, "name": kind, "kind": kind})
		}
		var answer json.RawMessage
		a.call("session/request_permission", map[string]any{
			"sessionId": "s", "options": options,
			"toolCall": map[string]string{"toolCallId": "c", "title": "Do\nit"},
		}, &answer)
		a.say(fmt.Sprintf("%s\n", answer))
	}
	a.say("\x1b[2Jno escape\n")
	return "refusal"
}

// message is what an agent made of lines reads.
type message struct {
	ID            json.RawMessage
	Method        string
	Result, Error json.RawMessage
}

func readMessage(in *bufio.Scanner) (m message) {
	if !in.Scan() || json.Unmarshal(in.Bytes(), &m) != nil {
		panic("no message")
	}
	return m
}

// createBeforePrompt is an agent made of lines, which asks for a terminal together with its answer to session/new.
func createBeforePrompt([]string) {
	in := bufio.NewScanner(os.Stdin)
	answerNext := func(result, more string) {
		fmt.Print(`{"jsonrpc":"2.0","id":` + string(readMessage(in).ID) + `,"result":` + result + "}\n" + more)
	}
	answerNext(`{"protocolVersion":1}`, "")
	params, _ := json.Marshal(createParams("s", part("print", "early")...))
	answerNext(`{"sessionId":"s"}`, `{"jsonrpc":"2.0","id":"early","method":"terminal/create","params":`+string(params)+"}\n")
	var prompt json.RawMessage
	var answer string
	for prompt == nil || answer == "" { // in whatever order
		message := readMessage(in)
		if message.Method == "" {
			answer = string(message.Result) + string(message.Error)
		} else {
			prompt = message.ID
		}
	}
	text, _ := json.Marshal("early: " + answer + "\n")
	fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`+"\n", text)
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`+"\n", prompt)
	for in.Scan() {
	}
}

// createParams are the params of a terminal/create.
func createParams(session acpterm.SessionID, command ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: session, Command: command[0], Args: command[1:]}
}

// stopListening answers some requests and does not read on; after that, nothing ends it that can be ignored.
func stopListening(args []string) {
	in := bufio.NewScanner(os.Stdin)
	for _, result := range args {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", readMessage(in).ID, result)
	}
	fmt.Fprintln(os.Stderr, "agent", os.Getpid())
	ignoreEverything()
}
