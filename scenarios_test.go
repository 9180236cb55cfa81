package acpterm_test

// The scenarios in testdata: what an agent sends, and what the client answers. testdata/README.md describes the files.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// childProgram is the name by which scenarios run this test program as a command.
const childProgram = "child"

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); strings.TrimSuffix(name, ".exe") == childProgram {
		os.Args = slices.Insert(os.Args, 1, children.Mark)
	}
	hosttest.RunTests(m, nil)
}

func TestScenarios(t *testing.T) {
	addChildToPath(t)
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	through := faces
	if testing.Short() {
		through = faces[:1]
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := parseScenario(filepath.ToSlash(file), string(text))
		require.NoError(t, err)
		for _, f := range through {
			if s.runsHere() && (f.plays == nil || f.plays(s)) {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+f.name, func(t *testing.T) {
					require.NoError(t, s.play(t, f.serve))
				})
			}
		}
	}
}

// A scenario fails if the client sends anything but the expected messages, and if its file has a mistake.
func TestScenariosCanFail(t *testing.T) {
	addChildToPath(t)
	const poll = `agent: {"jsonrpc":"2.0","id":1,"method":"terminal/output",` +
		`"params":{"sessionId":"s","terminalId":"x"}}` + "\n"
	const answer = `client: {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"...",` +
		`"data":{"kind":"terminal_not_found","sessionId":"s","terminalId":"x"}}}`
	for i, bad := range []struct{ text, want string }{
		{poll + strings.Replace(answer, "-32002", "-32003", 1), "x.txt:2: "},
		{poll + strings.Replace(answer, `"id":1`, `"id":1.0`, 1), "x.txt:1: "},
		{poll + strings.Replace(answer, `"sessionId":"s",`, ``, 1), "x.txt:2: "},
		{poll + strings.Replace(answer, `"s"`, `"s","more":"..."`, 1), "x.txt:2: "},
		{poll + strings.Replace(answer, "client", "until", 1), ""},
		{poll + `until: {"id":1}`, "x.txt:2: "},
		{poll, "x.txt:1: the request has no answer"},
		{`agent: {"jsonrpc":"2.0","method":"x"}`, "x.txt: at its end"},
		{strings.Replace(poll, `"x"`, `"$X"`, 1) + answer, "x.txt:1: $X has no value"},
		{poll + answer + "}", "x.txt:2: "},
		{poll + "\nuntil: {}", "x.txt:3: "},
		{"client {}", "x.txt:1: "},
		{"agnet: {}", "x.txt:1: "},
		{"only: unix plan10", "x.txt:1: "},
		{`options: {"MaxTerminal":1}`, "x.txt:1: "},
		{poll + answer, ""},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s, err := parseScenario("x.txt", bad.text)
			if err == nil {
				err = s.play(t, serveFilter)
			}
			if bad.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, bad.want)
		})
	}
}

// addChildToPath makes this program available to commands as childProgram.
func addChildToPath(t *testing.T) {
	dir := t.TempDir()
	child := filepath.Join(dir, childProgram)
	if runtime.GOOS == "windows" { // where a symbolic link needs a privilege
		program, err := os.ReadFile(children.Program())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(child+".exe", program, 0o700))
	} else {
		require.NoError(t, os.Symlink(children.Program(), child))
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// scenario is a file of testdata.
type scenario struct {
	file    string
	only    []string
	decoded []byte // options as JSON
	steps   []step
}

// step is a line of the agent, or what the client sends next.
type step struct {
	line  int // in the file, counted from 1
	agent string
	wants []any // decoded messages, in any order
	until bool  // the agent repeats its last line until it gets the wanted message
}

// clientOptions are the options of the client. They are named as in Go.
type clientOptions struct {
	acpterm.Options
	acpterm.HandlerOptions
	UserIsAway bool // a user is asked about each command and does not answer
}

func decodeOptions(text []byte) (o clientOptions, err error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	err = d.Decode(&o)
	return o, err
}

// onlyWords are the systems on which a scenario runs, and "filter" for one that other faces cannot play.
var onlyWords = []string{"linux", "darwin", "freebsd", "windows", "unix", "filter"}

func (s *scenario) runsHere() bool {
	systems := slices.DeleteFunc(slices.Clone(s.only), func(word string) bool { return word == "filter" })
	return len(systems) == 0 || slices.Contains(systems, runtime.GOOS) ||
		runtime.GOOS != "windows" && slices.Contains(systems, "unix")
}

func parseScenario(file, text string) (*scenario, error) {
	s := &scenario{file: file, decoded: []byte("{}")}
	continues := "" // the kind of the line before
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		before := continues
		continues = ""
		if line == "" || line[0] == '#' {
			continue
		}
		kind, rest, _ := strings.Cut(line, ": ")
		var err error
		switch continues = kind; kind {
		case "only":
			s.only = strings.Fields(rest)
			for _, word := range s.only {
				if !slices.Contains(onlyWords, word) {
					err = fmt.Errorf("%q is none of %v", word, onlyWords)
				}
			}
		case "options":
			s.decoded = []byte(rest)
			_, err = decodeOptions(s.decoded)
		case "agent":
			s.steps = append(s.steps, step{line: i + 1, agent: rest})
		case "client", "until":
			if kind != "client" || before != "client" {
				s.steps = append(s.steps, step{line: i + 1, until: kind == "until"})
			}
			if kind == "until" && before != "agent" {
				err = errors.New("the line before is not the agent's")
			}
			var want any
			if err == nil {
				want, err = decodeMessage(rest)
			}
			last := &s.steps[len(s.steps)-1]
			last.wants = append(last.wants, want)
		default:
			err = fmt.Errorf("%q is not a kind of line", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return s, s.unanswered()
}

// unanswered returns an error if the file has no answer to a request. The answer could come at any time.
func (s *scenario) unanswered() error {
	for i, request := range s.steps {
		message, _ := decodeMessage(request.agent)
		id := member(message, "id")
		_, isText := id.(string)
		if _, isNumber := id.(json.Number); !isText && !isNumber || member(message, "method") == nil {
			continue // a notification, or not a message
		}
		if !slices.ContainsFunc(s.steps[i:], func(later step) bool {
			return slices.ContainsFunc(later.wants, func(want any) bool { return member(want, "id") == id })
		}) {
			return fmt.Errorf("%s:%d: the request has no answer", s.file, request.line)
		}
	}
	return nil
}

func decodeMessage(text string) (message any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // 1 and 1.0 are different ids
	if err = d.Decode(&message); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is text after the message")
	}
	return message, nil
}

// play plays the scenario with real commands. The error says what the client sent and should not have.
func (s *scenario) play(t *testing.T, serve func(*acpterm.Handler, io.ReadWriteCloser)) error {
	options, err := decodeOptions(s.decoded)
	require.NoError(t, err)
	options.SkippedLines = func([]byte, int64, string) {}
	options.Next = restOfClient{}
	if options.UserIsAway {
		options.Policy = acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		})
		options.Approve = func(ctx context.Context, _ acpterm.Question) acpterm.Answer {
			<-ctx.Done()
			return acpterm.Answer{}
		}
	}
	h := acpterm.NewHandler(hosttest.NewManager(t, &options.Options), &options.HandlerOptions)
	client, agent := hosttest.PipePair(t)
	served := make(chan struct{})
	go func() { defer close(served); serve(h, client) }()
	t.Cleanup(func() {
		agent.Close()
		<-served
		require.NoError(t, h.Close())
	})
	if deadline, ok := t.Deadline(); ok { // in time to say what was expected
		defer time.AfterFunc(time.Until(deadline)*9/10, func() { agent.Close() }).Stop()
	}
	p := player{conn: agent, reader: bufio.NewReader(agent), values: map[string]string{
		"$DIR": hosttest.RealTempDir(t), "$KILLED": hosttest.KilledBy(),
	}}
	require.NoError(t, os.WriteFile(filepath.Join(p.values["$DIR"], "file"), nil, 0o600))
	for _, step := range s.steps {
		if err := p.step(step); err != nil {
			return fmt.Errorf("%s:%d: %w", s.file, step.line, err)
		}
	}
	end := step{wants: []any{map[string]any{"jsonrpc": "2.0", "id": "end", "result": map[string]any{"rest": "end"}}}}
	err = errors.Join(p.send(`{"jsonrpc":"2.0","id":"end","method":"end"}`), p.receive(end))
	if err != nil {
		return fmt.Errorf("%s: at its end: %w", s.file, err)
	}
	return nil
}

// player is the agent of a scenario.
type player struct {
	conn   io.Writer
	reader *bufio.Reader
	sent   string            // the last line
	values map[string]string // of names such as "$T1"
}

var valueName = regexp.MustCompile(`\$[A-Z][A-Z0-9]*`)

func (p *player) step(s step) error {
	if s.agent == "" {
		return p.receive(s)
	}
	for _, name := range valueName.FindAllString(s.agent, -1) {
		if _, ok := p.values[name]; !ok {
			return fmt.Errorf("%s has no value", name)
		}
	}
	return p.send(valueName.ReplaceAllStringFunc(s.agent, func(name string) string {
		quoted, _ := json.Marshal(p.values[name])
		return string(quoted[1 : len(quoted)-1])
	}))
}

func (p *player) send(line string) error {
	p.sent = line
	_, err := io.WriteString(p.conn, line+"\n")
	return err
}

// receive reads messages until it has all that a step wants.
func (p *player) receive(s step) error {
	for wants := slices.Clone(s.wants); len(wants) > 0; {
		line, err := p.reader.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the client did not send %s: %w", encoded(wants), err)
		}
		got, err := decodeMessage(line)
		if err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		i := slices.IndexFunc(wants, func(want any) bool { return p.accept(want, got) })
		switch {
		case i >= 0:
			wants = slices.Delete(wants, i, i+1)
		case s.until && member(got, "id") == member(wants[0], "id") && member(got, "error") == nil:
			if err := p.send(p.sent); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the client sent\n%swhich is none of\n%s", line, encoded(wants))
		}
	}
	return nil
}

func member(message any, name string) any {
	object, _ := message.(map[string]any)
	return object[name]
}

func encoded(messages []any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range messages {
		e.Encode(m)
	}
	return b.String()
}

// accept reports whether a message is a wanted one. Then names without a value get theirs.
func (p *player) accept(want, got any) bool {
	values := maps.Clone(p.values)
	if !matches(want, got, values) {
		return false
	}
	p.values = values
	return true
}

func matches(want, got any, values map[string]string) bool {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		if !ok || len(members) != len(want) {
			return false
		}
		for name, value := range want {
			if member, ok := members[name]; !ok || !matches(value, member, values) {
				return false
			}
		}
		return true
	case []any:
		elements, ok := got.([]any)
		return ok && slices.EqualFunc(want, elements, func(w, g any) bool { return matches(w, g, values) })
	case string:
		if want == "..." {
			return true
		}
		text, ok := got.(string)
		if _, known := values[want]; ok && !known && valueName.FindString(want) == want && want != "" {
			values[want] = text
		}
		return ok && text == valueName.ReplaceAllStringFunc(want, func(name string) string { return values[name] })
	default:
		return want == got
	}
}

// restOfClient answers everything but the terminal methods, with the method's name.
type restOfClient struct{}

func (restOfClient) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Notif {
		conn.Notify(ctx, "rest", req.Method)
		return
	}
	conn.Reply(ctx, req.ID, map[string]string{"rest": req.Method})
}

// faces are the ways to connect a Handler. serve answers an agent until it closes the connection.
var faces = []struct {
	name  string
	plays func(*scenario) bool // nil for all
	serve func(*acpterm.Handler, io.ReadWriteCloser)
}{
	{"Filter", nil, serveFilter},
	{"Handle", func(s *scenario) bool { return !slices.Contains(s.only, "filter") }, serveHandle},
	{"Dispatch", func(s *scenario) bool { return !slices.Contains(s.only, "filter") && s.oneByOne() }, serveDispatch},
}

// oneByOne reports whether the agent sends only requests, and none while another is pending.
func (s *scenario) oneByOne() bool {
	for i, step := range s.steps {
		message, _ := decodeMessage(step.agent)
		if (i%2 == 0) != (member(message, "id") != nil) || len(step.wants) > 1 {
			return false
		}
	}
	return true
}

func serveFilter(h *acpterm.Handler, conn io.ReadWriteCloser) {
	serveHandle(h, h.Filter(context.Background(), conn))
}

func serveHandle(h *acpterm.Handler, conn io.ReadWriteCloser) {
	<-jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(conn), h).DisconnectNotify()
}

// serveDispatch answers one request after the other.
func serveDispatch(h *acpterm.Handler, conn io.ReadWriteCloser) {
	defer conn.Close()
	requests, answers := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if requests.Decode(&req) != nil {
			return
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": req.ID}
		result, err := h.Dispatch(context.Background(), req.Method, req.Params)
		switch {
		case errors.Is(err, acpterm.ErrMethodNotFound):
			answer["result"] = map[string]string{"rest": req.Method}
		case err != nil:
			answer["error"] = acpterm.ResponseError(err)
		default:
			answer["result"] = result
		}
		if answers.Encode(answer) != nil {
			return
		}
	}
}
