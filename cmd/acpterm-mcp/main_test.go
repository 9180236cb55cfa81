//go:build unix

package main

// The program, as an agent starts it: in a process of its own, with MCP on standard input and output.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/remote"
)

// asProgram makes the test binary the program.
const asProgram = "ACPTERM_MCP_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	racetest.Restart()
	own, err := os.MkdirTemp("", "acpterm-mcp") // instead of the user's directories
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", filepath.Join(own, "state"))
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(own, "config"))
	code := m.Run()
	os.RemoveAll(own)
	os.Exit(code)
}

// program returns the command that starts the program.
func program(arguments ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], arguments...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// connectTo starts the program and connects a client to it.
func connectTo(t *testing.T, options *mcp.ClientOptions, arguments ...string) (*mcp.ClientSession, *racetest.Buffer) {
	t.Helper()
	cmd, messages := program(arguments...), new(racetest.Buffer)
	cmd.Stderr = messages
	client := mcp.NewClient(&mcp.Implementation{Name: "tester"}, options)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil)
	require.NoError(t, err, "%s", messages)
	t.Cleanup(func() { require.NoError(t, s.Close(), "%s", messages) }) // the program exits with 0
	return s, messages
}

// requireSays waits for a message on standard error, which may arrive after the response to a request.
func requireSays(t *testing.T, messages *racetest.Buffer, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(messages.String(), text) }, time.Minute,
		time.Millisecond, "%s", text)
}

type object = map[string]any

func call(t *testing.T, s *mcp.ClientSession, tool string, arguments object) (text string, ok bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	return r.Content[0].(*mcp.TextContent).Text, !r.IsError
}

func runLine(t *testing.T, s *mcp.ClientSession, line string) (text string, ok bool) {
	t.Helper()
	return call(t, s, "run", object{"command": line})
}

func TestRulesDecideAboutEachProgramOfALine(t *testing.T) {
	s, messages := connectTo(t, nil, "-root", t.TempDir(), "-allow", "seq", "-allow", "tr ...", "-deny", "seq 9 ...")
	text, ok := runLine(t, s, "seq 3 5 | tr 4 x")
	require.True(t, ok, text)
	require.Contains(t, text, "3\nx\n5\n")
	for _, line := range []string{"seq 9 9", "seq 3; touch x", "seq $(ls)", "seq 3 > file", "PAGER=x seq 3"} {
		text, ok := runLine(t, s, line)
		require.False(t, ok, text)
		require.Contains(t, text, "Do not try to run the same thing in another way")
	}
	require.Empty(t, messages.String())
}

func TestWithoutRulesTheUserDecides(t *testing.T) {
	s, messages := connectTo(t, nil, "-root", t.TempDir())
	text, ok := runLine(t, s, "seq 3")
	require.False(t, ok)
	require.Contains(t, text, "does not support elicitation")
	requireSays(t, messages, "acpterm-mcp: no rule allows a command")

	asked := 0
	asking := &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_session"}}, nil
		},
	}
	s, _ = connectTo(t, asking, "-root", t.TempDir())
	for range 2 {
		text, ok = runLine(t, s, "echo hello > file; cat file")
		require.True(t, ok, text)
		require.Contains(t, text, "]\nhello\n")
	}
	require.Equal(t, 1, asked)
	s, _ = connectTo(t, asking, "-root", t.TempDir(), "-others", "deny")
	_, ok = runLine(t, s, "seq 3")
	require.False(t, ok)
	require.Equal(t, 1, asked)
}

func TestAskRuleAsksAlthoughOthersAreAllowed(t *testing.T) {
	asked := 0
	deny := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	}
	root := t.TempDir()
	s, _ := connectTo(t, deny, "-root", root, "-others", "allow", "-allow", "tr ...", "-ask", "seq 9 ...")
	text, ok := runLine(t, s, "seq 3 | tr 3 x")
	require.True(t, ok, text)
	require.Zero(t, asked)
	for i, arguments := range []object{
		{"command": "seq", "args": []string{"9", "9"}}, {"command": "seq 9 9"}, {"command": "seq 3; seq 9 9"},
		{"command": `eval "seq $PWD"`}, // cannot be analysed
	} {
		text, ok := call(t, s, "run", arguments)
		require.False(t, ok, text)
		require.Equal(t, i+1, asked, arguments)
	}
	s, _ = connectTo(t, deny, "-root", root, "-others", "allow", "-ask", "seq 9 ...", "-deny", "seq 8 ...")
	_, ok = runLine(t, s, `eval "seq $PWD"`)
	require.False(t, ok)
	require.Equal(t, 4, asked)
}

// ruleFile writes a file of rules and returns its path.
func ruleFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "rules.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The default and shellLines of a file count: the strictest of several, and -others before a default.
func TestVerdictsOfFiles(t *testing.T) {
	const seq = `"rules":[{"name":"seq","verdict":"allow","program":"seq"}]`
	none, seqOnly := `{}`, `{`+seq+`}`
	allow, deny, null := `{"default":"allow"}`, `{"default":"deny",`+seq+`}`, `{"default":null,"shellLines":null}`
	noLines, askLines, lines := `{"shellLines":"deny",`+seq+`}`, `{"shellLines":"ask"}`, `{"shellLines":"allow",`+seq+`}`
	type file = []string
	for _, c := range []struct {
		files                          file
		flags                          []string
		command, line, other, analysed string // how seq, a line of it, another program, and a line of that are decided
	}{
		{file{none}, nil, "ask", "ask", "ask", "ask"},
		{file{null, seqOnly}, nil, "allow", "allow", "ask", "ask"},
		{file{allow}, nil, "allow", "allow", "allow", "allow"},
		{file{deny}, nil, "allow", "allow", "deny", "deny"},
		{file{allow, deny}, nil, "allow", "allow", "deny", "deny"},
		{file{deny, allow}, nil, "allow", "allow", "deny", "deny"},
		{file{deny}, []string{"-others", "ask"}, "allow", "allow", "ask", "ask"},
		{file{allow, seqOnly}, []string{"-others", "deny"}, "allow", "allow", "deny", "deny"},
		{file{noLines}, nil, "allow", "deny", "ask", "deny"},
		{file{noLines}, []string{"-others", "allow"}, "allow", "deny", "allow", "deny"},
		{file{`{"shellLines":"deny"}`}, []string{"-others", "allow"}, "allow", "deny", "allow", "deny"},
		{file{askLines, seqOnly, lines}, nil, "allow", "ask", "ask", "ask"},
		{file{askLines, noLines}, nil, "allow", "deny", "ask", "deny"},
		{file{askLines}, []string{"-allow", "seq ...", "-others", "deny"}, "allow", "ask", "deny", "deny"},
		{file{lines}, nil, "allow", "allow", "ask", "ask"},
	} {
		arguments := append([]string{"-root", t.TempDir()}, c.flags...)
		for _, text := range c.files {
			arguments = append(arguments, "-rules", ruleFile(t, text))
		}
		asked := 0
		s, _ := connectTo(t, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				return &mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_once"}}, nil
			},
		}, arguments...)
		for i, each := range []struct {
			want   string
			params object
		}{
			{c.command, object{"command": "seq", "args": []string{"3"}}}, {c.line, object{"command": "seq 3"}},
			{c.other, object{"command": "basename", "args": []string{"x"}}}, {c.analysed, object{"command": "basename x"}},
		} {
			asked = 0
			text, ok := call(t, s, "run", each.params)
			got := "deny"
			switch {
			case asked > 0:
				got = "ask"
			case ok:
				got = "allow"
			}
			require.Equal(t, each.want, got, "%s %q, command %d: %s", c.files, c.flags, i, text)
		}
	}
}

func TestJournalIsWhereCommandsCannotWrite(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	t.Setenv("HOME", root)
	require.NoError(t, os.Mkdir(filepath.Join(root, "below"), 0o700))
	require.NoError(t, os.Symlink(root, filepath.Join(outside, "in")))
	require.NoError(t, os.Symlink(filepath.Join(root, "below"), filepath.Join(outside, "below")))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "out")))
	require.NoError(t, os.Symlink(filepath.Join(root, "missing"), filepath.Join(outside, "dangling")))
	for _, dir := range []string{
		root, root + "/a/b", "~/a", root + "/out/a", outside + "/in", outside + "/in/a", outside + "/below/a",
		outside + "/dangling/a",
	} {
		text, err := program("-root", root, "-journal", dir).CombinedOutput()
		require.Error(t, err, dir)
		require.Contains(t, string(text), "acpterm-mcp: wrong command line: -journal: ", dir)
	}
	text, err := program("-root", root, "-sandbox", "-writable", outside, "-journal", outside+"/a").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "where commands may write")

	t.Setenv("HOME", outside)
	s, _ := connectTo(t, nil, "-root", root, "-others", "allow", "-journal", "~/new/journal", "-audit", "~/audit.json")
	_, ok := runLine(t, s, "true")
	require.True(t, ok)
	require.DirExists(t, outside+"/new/journal")
	require.FileExists(t, outside+"/audit.json")
}

func TestGuardsOfTheProgram(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	audit := filepath.Join(outside, "audit.json")
	s, messages := connectTo(t, nil, "-root", root, "-others", "allow", "-audit", audit, "-timeout", "1s",
		"-view", "127.0.0.1:0", "-journal", filepath.Join(outside, "journal"), "-text", "2000")
	text, ok := runLine(t, s, "sleep 1000")
	require.True(t, ok)
	require.Contains(t, text, "ended by SIGTERM, timed_out")
	text, ok = call(t, s, "run", object{"command": "pwd", "cwd": outside})
	require.False(t, ok, text)
	text, _ = runLine(t, s, "seq 1 100000")
	require.Less(t, len(text), 3000)
	recorded, err := os.ReadFile(audit)
	require.NoError(t, err)
	require.Contains(t, string(recorded), `"sleep 1000"`)
	response, err := http.Get(linkIn(t, messages))
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 200, response.StatusCode)
}

func TestCommandsOnAnotherSide(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "app"), 0o777))
	t.Setenv("HOME", home)
	there := append(onAnotherSide(t), "-root", "~/app")
	s, messages := connectTo(t, nil, append(there, "-allow", "pwd", "-allow", "tty", "-allow", "cat", "-pty", "allow")...)
	text, ok := runLine(t, s, "pwd")
	require.True(t, ok, text)
	require.Contains(t, text, "/app\n")
	require.Empty(t, messages.String())
	_, ok = runLine(t, s, "ls")
	require.False(t, ok)
	text, ok = call(t, s, "run", object{"command": "tty; echo $PAGER", "pty": true})
	require.True(t, ok, text)
	require.Regexp(t, `]\n/dev/\S+\ncat\n$`, text)
	text, ok = call(t, s, "run", object{"command": "cat", "stdin": true, "wait_ms": 0})
	require.True(t, ok, text)
	id := regexp.MustCompile(`\w+`).FindString(text)
	text, ok = call(t, s, "write", object{"id": id, "text": "typed\n", "close": true})
	require.True(t, ok, text)
	require.Contains(t, text, "typed\n")
}

// A command that waits is ended, and one that works in silence is not.
func TestIdleTimeout(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no IdleTimeout on this system")
	}
	for _, where := range [][]string{{"-root", t.TempDir()}, onAnotherSide(t)} {
		s, _ := connectTo(t, nil, append(where, "-others", "allow", "-idle-timeout", "1s")...)
		text, ok := runLine(t, s, "timeout 3 yes >/dev/null; echo worked; sleep 1000")
		require.True(t, ok)
		require.Contains(t, text, "ended by SIGTERM, because it was silent and idle for too long")
		require.Contains(t, text, "worked")
	}
}

// onAnotherSide returns flags for commands on another side, which is a shell on this machine.
func onAnotherSide(t *testing.T) []string {
	helpers := t.TempDir()
	require.NoError(t, remote.Build(t.Context(), "", helpers, runtime.GOOS, runtime.GOARCH))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return []string{"-runner", "sh", "-helpers", helpers}
}

// Standard output has one JSON object on each line, whatever arrives.
func TestStandardOutputCarriesOnlyMCP(t *testing.T) {
	cmd := program("-others", "allow", "-view", "127.0.0.1:0")
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"raw","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"command":"echo out"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run","arguments":{"command":1}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"no/such"}`,
	}, "\n") + "\n"
	stdin, stdout := leaktest.StartPiped(t, cmd)
	_, err := io.WriteString(stdin, in)
	require.NoError(t, err)
	replies := json.NewDecoder(stdout)
	for range 4 {
		var reply struct{ JSONRPC string }
		require.NoError(t, replies.Decode(&reply))
		require.Equal(t, "2.0", reply.JSONRPC)
	}
	// More nesting than any decoder should follow.
	io.WriteString(stdin, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":`+strings.Repeat("[", 5<<20)+"\n")
	stdin.Close()
	rest, err := io.ReadAll(io.MultiReader(replies.Buffered(), stdout))
	require.NoError(t, err)
	for line := range strings.Lines(strings.TrimSpace(string(rest))) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		require.Equal(t, 1, exit.ExitCode()) // not a panic
	}
}

// stubborn writes its process IDs to a file, one in a session of its own, and ignores signals.
const stubborn = `trap '' TERM HUP INT; (setsid sh -c 'trap "" TERM HUP; echo $$ >> pids; exec sleep 1000' &)
echo $$ >> pids; while [ $(wc -l < pids) -lt 2 ]; do sleep 0.01; done; echo up; sleep 1000`

// requireGone waits until the processes in a file of stubborn are gone.
func requireGone(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pids"))
	require.NoError(t, err)
	var pids [2]int
	_, err = fmt.Sscan(string(text), &pids[0], &pids[1])
	require.NoError(t, err)
	for _, pid := range pids {
		require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, time.Minute, 10*time.Millisecond)
	}
}

// startPiped starts the program and connects a client to it by pipes that the test holds.
func startPiped(t *testing.T, messages io.Writer, arguments ...string) (*exec.Cmd, *mcp.ClientSession) {
	t.Helper()
	cmd := program(arguments...)
	cmd.Stderr = messages
	stdin, stdout := leaktest.StartPiped(t, cmd)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).Connect(
		t.Context(), &mcp.IOTransport{Reader: stdout, Writer: stdin}, nil)
	require.NoError(t, err)
	return cmd, s
}

// runStubborn returns when stubborn runs.
func runStubborn(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	text, ok := call(t, s, "run", object{"command": stubborn, "wait_ms": 0})
	require.True(t, ok, text)
	id := regexp.MustCompile(`\[(\w+) `).FindStringSubmatch(text)[1] // there may be output before it
	text, _ = call(t, s, "wait", object{"id": id, "until": "up"})
	require.Contains(t, text, ", matched")
}

// An agent that is killed closes the pipes and says nothing.
func TestNothingIsLeftWhenTheAgentIsGone(t *testing.T) {
	dir := t.TempDir()
	cmd, s := startPiped(t, nil, "-root", dir, "-others", "allow")
	runStubborn(t, s)
	s.Close()
	require.NoError(t, cmd.Wait())
	requireGone(t, dir)
}

func TestNothingIsLeftAfterASignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			testSignal(t, sig)
		})
	}
}

func testSignal(t *testing.T, sig syscall.Signal) {
	dir := t.TempDir()
	cmd, s := startPiped(t, nil, "-root", dir, "-others", "allow")
	runStubborn(t, s)
	require.NoError(t, cmd.Process.Signal(sig))
	go func() { // agents send several signals
		for range time.Tick(time.Millisecond) {
			if cmd.Process.Signal(syscall.SIGTERM) != nil {
				return
			}
		}
	}()
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	s.Close()
	require.Equal(t, 130, exit.ExitCode())
	requireGone(t, dir)
}

func TestErrorsAfterASignalAreShown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	messages := new(racetest.Buffer)
	cmd, s := startPiped(t, messages, "-root", t.TempDir(), "-others", "allow", "-journal", dir)
	text, ok := call(t, s, "run", object{"command": "sleep 1000", "wait_ms": 0})
	require.True(t, ok, text)
	records, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, records, 1)
	record := filepath.Join(dir, records[0].Name())
	require.NoError(t, os.Remove(record))
	require.NoError(t, os.MkdirAll(filepath.Join(record, "in the way"), 0o700))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	s.Close()
	require.Equal(t, 130, exit.ExitCode())
	require.Contains(t, messages.String(), "the journal cannot be written")
}

func TestTheNextStartEndsWhatWasLeftBehind(t *testing.T) {
	dir := t.TempDir()
	arguments := []string{"-root", dir, "-others", "allow", "-journal", filepath.Join(t.TempDir(), "journal")}
	cmd, s := startPiped(t, nil, arguments...)
	runStubborn(t, s)
	require.NoError(t, cmd.Process.Kill())
	s.Close()
	_, messages := connectTo(t, nil, arguments...)
	requireSays(t, messages, "that an earlier run left behind: trap")
	requireGone(t, dir)
}

func TestWrongCommandLine(t *testing.T) {
	for want, arguments := range map[string][]string{
		"there is no argument \"x\"":         {"x"},
		"flag provided but not defined":      {"-x"},
		"there is no program \"no-such\"":    {"-allow", "no-such ..."},
		"-network, -writable and -hidden":    {"-network"},
		"is not a directory":                 {"-root", "/no/such"},
		"-helpers needs -runner":             {"-helpers", "/"},
		"-timeout must not be negative":      {"-timeout", "-1s"},
		"-idle-timeout must not be negativ":  {"-idle-timeout", "-1s"},
		"-keep must be between 0 and 16777":  {"-keep", "-1"},
		"-keep must be between 0 and 1677":   {"-keep", "16777217"},
		"-text must not be negative":         {"-text", "-1"},
		"positive number of MiB":             {"-memory", "1G"},
		"no such file":                       {"-rules", "/no/such"},
		"\"maybe\"":                          {"-others", "maybe"},
		`unknown field "defaults"`:           {"-rules", ruleFile(t, `{"defaults":"deny"}`)},
		`unknown field "programs"`:           {"-rules", ruleFile(t, `{"rules":[{"name":"x","programs":"go"}]}`)},
		`"perhaps" is no verdict`:            {"-rules", ruleFile(t, `{"default":"perhaps"}`)},
		`the rule name "default"`:            {"-rules", ruleFile(t, `{"rules":[{"name":"default","program":"go"}]}`)},
		`"never" is no verdict`:              {"-rules", ruleFile(t, `{"shellLines":"never"}`)},
		"the rule is empty":                  {"-deny", " "},
		"the name is empty":                  {"-variable", "=x"},
		"is none of bash":                    {"-shell", "sesame"},
		"-login-env, -journal and -redirect": {"-login-env", "-runner", "sh"},
		"-journal and -redirect cannot be ":  {"-redirect", "-runner", "sh"},
		`"sometimes" is no verdict`:          {"-pty", "sometimes"},
		"-view: :0 is not an address of":     {"-view", ":0"},
		"-view: 0.0.0.0:0 is not an addres":  {"-view", "0.0.0.0:0"},
		"-view: address x: missing port":     {"-view", "x"},
	} {
		var exit *exec.ExitError
		text, err := program(arguments...).CombinedOutput()
		require.ErrorAs(t, err, &exit, "%q", arguments)
		require.Equal(t, 2, exit.ExitCode(), "%s", text)
		require.Contains(t, string(text), want)
		require.True(t, strings.HasPrefix(string(text), "acpterm-mcp: wrong command line: "), "%s", text)
		require.Equal(t, 1, strings.Count(string(text), "\n"), "%s", text)
	}
	text, err := program("-version").CombinedOutput()
	require.NoError(t, err)
	require.Regexp(t, `^acpterm-mcp \S+ go1\S+ \w+/\w+\n$`, string(text))
	text, err = program("-audit", t.TempDir()).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "acpterm-mcp: -audit: ")
}
