package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// messages returns frames with answers.
func messages(t testing.TB, answers ...frame.Answer) string {
	var b bytes.Buffer
	for _, a := range answers {
		require.NoError(t, frame.NewWriter(&b).Message(a))
	}
	return b.String()
}

// output returns a frame with output.
func output(t testing.TB, process uint64, offset int64, text string) string {
	var b bytes.Buffer
	require.NoError(t, frame.NewWriter(&b).Output(process, offset, append(make([]byte, frame.Header), text...)))
	return b.String()
}

// An event that breaks the protocol ends the connection, and the error says why. Earlier output is kept.
func TestLyingEvents(t *testing.T) {
	process := &frame.Process{Process: 1} // has written three bytes
	exit := frame.Answer{Exit: &frame.Exit{Process: 1}}
	gone, ended := frame.Answer{Gone: process}, frame.Answer{Ended: process}
	say := func(answers ...frame.Answer) string { return messages(t, answers...) }
	for name, c := range map[string]struct {
		lie  string
		says string
	}{
		"output at a later offset": {output(t, 1, 4, "x"), "at offset 4 and not at 3"},
		"output again":             {output(t, 1, 0, "abc"), "at offset 0 and not at 3"},
		"output at -1":             {output(t, 1, -1, "abc"), "at offset -1"},
		"output of an unknown one": {output(t, 2, 0, "abc"), "there is no process 2"},
		"output after its end":     {say(ended) + output(t, 1, 3, "abc"), "after its end"},
		"the output's end twice":   {say(ended, ended), "second end of process 1's output"},
		"exit twice":               {say(exit, exit), "second exit"},
		"exit of an unknown one":   {say(frame.Answer{Exit: new(frame.Exit)}), "there is no process 0"},
		"exit by no signal": {
			say(frame.Answer{Exit: &frame.Exit{Process: 1, Signal: "SIG\x1b"}}), "is no signal",
		},
		"gone before exit":            {say(gone), "before its exit"},
		"gone twice":                  {say(exit, gone, gone), "second end of process 1's tree"},
		"closed without being asked":  {say(frame.Answer{Closed: process}), "not asked"},
		"a second hello":              {say(frame.Answer{Hello: hello()}), "second hello"},
		"nothing":                     {say(frame.Answer{}), "says 0 things"},
		"two things":                  {say(frame.Answer{Gone: process, Ended: process}), "says 2 things"},
		"a reply that was not asked":  {say(frame.Answer{Reply: &frame.Reply{ID: 99}}), "a reply to 99"},
		"a reply again":               {say(frame.Answer{Reply: &frame.Reply{ID: 1}}), "a reply to 1"},
		"no JSON":                     {"m\x00\x00\x00\x01{", "malformed message"},
		"another type":                {"m\x00\x00\x00\x0a{\"exit\":[]}", "malformed message"},
		"no frame":                    {"hello, world", "malformed frame"},
		"a long frame":                {"m\x01\x00\x00\x01", "malformed frame"},
		"more output than in a frame": {"o\x00\x01\x00\x11", "malformed frame"},
		"output without an offset":    {"o\x00\x00\x00\x0f123456789012345", "malformed frame"},
		"a frame that is cut off":     {"m\x00\x00\x00\x10{", "cut off"},
		"the end":                     {"", "the remote system has ended the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			transport, fars := farTransport(t)
			r := newRunner(t, Options{Transport: transport})
			go func() {
				f := <-fars
				f.serve(func(uint64) {
					io.WriteString(f.conn, output(t, 1, 0, "abc")+c.lie)
					f.conn.Close()
				})
			}()
			var text lines
			p, err := r.Start(testContext(t), startRequest(&text))
			require.NoError(t, err)
			_, err = p.Wait()
			if err == nil { // the lie arrived after the exit
				<-r.link.connection.lost.Done()
				err = r.link.connection.whyLost()
			} else {
				<-p.Gone()
				require.ErrorIs(t, p.Err(), acpterm.ErrConnectionLost)
				require.ErrorContains(t, p.Err(), c.says)
			}
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, "abc", text.String()[:3])
			p.Close()

			go func() { (<-fars).greet() }()
			require.NoError(t, r.Connect(testContext(t)), "there is a new connection")
		})
	}
}

// A reply that breaks the protocol ends the connection.
func TestLyingReplies(t *testing.T) {
	look := func(r *Runner) error {
		_, err := r.LookPath(context.Background(), acpterm.Command{Args: []string{"x"}})
		return err
	}
	dir := func(r *Runner) error {
		_, err := r.RealDir(context.Background(), "/")
		return err
	}
	start := func(r *Runner) error {
		request := startRequest(new(lines))
		request.Limits.OpenFiles = 10
		_, err := r.Start(context.Background(), request)
		return err
	}
	found := func(f frame.Found) *frame.Reply { return &frame.Reply{Found: &f} }
	held := func(limits ...frame.Limit) *frame.Reply {
		return &frame.Reply{Started: &frame.Started{Limits: limits}}
	}
	openFiles := frame.Limit{Name: "OpenFiles", Value: 10, By: "rlimit"}
	root, long := frame.Bytes("/"), string(make([]byte, maxPin+1))
	for name, c := range map[string]struct {
		ask   func(*Runner) error
		reply *frame.Reply
		says  string
	}{
		"no directory":          {dir, &frame.Reply{}, "not absolute"},
		"a relative directory":  {dir, &frame.Reply{Dir: frame.Bytes("a")}, "not absolute"},
		"an unclean directory":  {dir, &frame.Reply{Dir: frame.Bytes("/a/../b")}, "not absolute"},
		"nothing found":         {look, &frame.Reply{}, "nothing that was found"},
		"a relative program":    {look, found(frame.Found{Path: frame.Bytes("a"), Dir: root}), "not both absolute"},
		"no directory found":    {look, found(frame.Found{Path: frame.Bytes("/a")}), "not both absolute"},
		"a NUL":                 {look, found(frame.Found{Path: frame.Bytes("/\x00"), Dir: root}), "not both"},
		"a path as a name":      {look, found(frame.Found{Path: root, Dir: root, Name: frame.Bytes("/b")}), "name"},
		"a long pin":            {look, found(frame.Found{Path: root, Dir: root, Pin: long}), "a pin of"},
		"nothing started":       {start, &frame.Reply{}, "no process that was started"},
		"a negative PID":        {start, &frame.Reply{Started: &frame.Started{PID: -1}}, "no process that was started"},
		"without the limit":     {start, held(), "without the limit OpenFiles"},
		"another limit":         {start, held(openFiles, frame.Limit{Name: "Memory"}), "not asked for"},
		"a limit twice":         {start, held(openFiles, openFiles), "not asked for"},
		"a limit that is large": {start, held(frame.Limit{Name: "OpenFiles", Value: 1 << 63}), "not asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			r := against(t, func(f *far) {
				f.greet()
				c.reply.ID = f.request().ID
				f.answer(frame.Answer{Reply: c.reply})
			})
			err := c.ask(r)
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			require.ErrorContains(t, err, "breaks the rules")
			require.ErrorContains(t, err, c.says)
		})
	}
}

// A helper that breaks the protocol before its connection is made gets none.
func TestLyingHello(t *testing.T) {
	with := func(change func(*frame.Hello)) func(*far) {
		return func(f *far) {
			f.write(f.marker() + "run\n")
			h := hello()
			change(h)
			f.answer(frame.Answer{Hello: h})
		}
	}
	env := func(variables ...string) func(*far) {
		return with(func(h *frame.Hello) { h.Env = frame.Texts(variables) })
	}
	for name, c := range map[string]struct {
		far  func(f *far)
		says string
	}{
		"version 1":            {with(func(h *frame.Hello) { h.Version = 1 }), "speaks version 1, and this"},
		"a relative directory": {with(func(h *frame.Hello) { h.Dir = frame.Bytes("a") }), "not an absolute path"},
		"a variable twice":     {env("A=1", "B=1", "A=2"), "malformed or double"},
		"a variable with NUL":  {env("A=\x00"), "malformed or double"},
		"no environment": {func(f *far) {
			text := `{"hello":{"version":2,"system":"linux","dir":"Lw==","env":{"A":"Qg=="}}}`
			f.write(f.marker() + "run\n" + "m\x00\x00\x00" + string(rune(len(text))) + text)
		}, "not a list"},
		"no hello": {func(f *far) {
			f.write(f.marker() + "run\n")
			f.answer(frame.Answer{Gone: &frame.Process{}})
		}, "no hello"},
		"output": {func(f *far) {
			f.write(f.marker() + "run\n")
			f.Output(1, 0, make([]byte, frame.Header+1))
		}, "did not start"},
		"carriage returns":   {func(f *far) { f.write(f.marker() + "run\r\n") }, "terminal (PTY)"},
		"another answer":     {func(f *far) { f.write(f.marker() + "stop\n") }, `answered "stop"`},
		"an error":           {func(f *far) { f.write(f.marker() + "error a\x1b b\n") }, `cannot run the helper: a\x1b b`},
		"no end of the line": {func(f *far) { f.write(f.marker() + "run"); f.conn.Close() }, "is incomplete"},
		"no end":             {func(f *far) { f.marker(); io.Copy(f.conn, zeros{}) }, "more than 65536 bytes"},
		"no end of the line ever": {func(f *far) {
			f.write(f.marker())
			io.Copy(f.conn, zeros{})
		}, "is incomplete"},
		"an echo": {func(f *far) {
			line, _ := f.in.ReadString('\n')
			f.write(line)
		}, "terminal (PTY)"},
		"need without Helpers": {func(f *far) { f.write(f.marker() + "need Plan9 68020\n") }, "for Plan9 68020"},
	} {
		t.Run(name, func(t *testing.T) {
			r := against(t, c.far)
			err := r.Connect(testContext(t))
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			require.ErrorContains(t, err, c.says)
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Arbitrary messages of a helper cause no panic, no hang and no leak.
func FuzzAnswers(f *testing.F) {
	frames := func(answers ...frame.Answer) []byte {
		return []byte(messages(f, answers...) + output(f, 1, 0, "text"))
	}
	started := frame.Answer{Reply: &frame.Reply{ID: 1, Started: &frame.Started{PID: 1}}}
	one := &frame.Process{Process: 1}
	exit := frame.Answer{Exit: &frame.Exit{Process: 1}}
	f.Add(frames(started, exit, frame.Answer{Gone: one}, frame.Answer{Ended: one}))
	f.Add(frames(started, frame.Answer{Closed: one}))
	f.Add(frames(frame.Answer{Reply: &frame.Reply{ID: 1, Error: &frame.Error{Kind: "denied"}}}))
	f.Add(frames(frame.Answer{Hello: hello()}, started))
	f.Add([]byte("m\x00\x00\x00\x04null"))
	f.Fuzz(func(t *testing.T, said []byte) {
		shell := &script{said: bytes.NewReader(said)}
		c := newConnection(newStream(shell), frame.NewReader(shell, frame.MaxAnswer), hello())
		var text lines
		call := newCall(nil)
		p := &process{connection: c, output: &text}
		call.accept = func(r *frame.Reply) error { return p.started(r, nil) }
		require.NoError(t, c.admit(context.Background(), call))
		require.NoError(t, c.send(&frame.Request{Start: &frame.Start{}}, call, p))
		err := c.serve(context.Background(), defaultSilenceTimeout)
		c.close()
		require.ErrorIs(t, err, acpterm.ErrConnectionLost)
		<-call.answered
		<-p.Gone()
		p.Wait()
		p.Close()
		require.EqualValues(t, 1, text.closed.Load())
	})
}

// script is a connection to a remote side that sends a fixed text and reads everything.
type script struct{ said io.Reader }

func (s *script) Read(p []byte) (int, error)  { return s.said.Read(p) }
func (s *script) Write(p []byte) (int, error) { return len(p), nil }
func (s *script) Close() error                { return nil }

// A helper cannot make this process allocate much more than the helper sends, whatever the bytes stand for, and cannot
// send much more than is needed.
func TestLyingHelpersMemory(t *testing.T) {
	const bound = 64 << 20 // bytes; twice as much as any of these needs
	hello := `{"hello":{"version":2,"system":"linux","dir":"Lw==","env":[%s]}}`
	limits := `{"reply":{"id":1,"started":{"limits":[%s]}}}`
	list := `{"reply":{"id":1,"list":{"processes":[%s]}}}`
	ports := `{"reply":{"id":1,"list":{"processes":[{"listening":[%s]}]}}}`
	cause := `{"reply":{"id":1,"error":{"kind":"internal","cause":"%s"}}}`
	for name, c := range map[string]struct {
		message string // with a placeholder for many copies
		many    string
		size    int
	}{
		"variables in a frame of 16 MiB":    {hello, `"",`, frame.MaxRequest},
		"variables in the longest hello":    {hello, `"",`, frame.MaxHello},
		"a variable in the longest hello":   {strings.Replace(hello, "%s", `"%s"`, 1), `AAAA`, frame.MaxHello},
		"another variable":                  {strings.Replace(hello, "%s", `"%s"`, 1), `QT1B`, frame.MaxHello},
		"limits in a frame of 16 MiB":       {limits, `{},`, frame.MaxRequest},
		"limits in the longest answer":      {limits, `{},`, frame.MaxAnswer},
		"an error of 16 MiB":                {cause, `\u0000`, frame.MaxRequest},
		"an error in the longest answer":    {cause, `\u0000`, frame.MaxAnswer},
		"processes in a frame of 16 MiB":    {list, `{},`, frame.MaxRequest},
		"processes in the longest answer":   {list, `{},`, frame.MaxAnswer},
		"ports in the longest answer":       {ports, `"",`, frame.MaxAnswer},
		"white space in a frame of 16 MiB":  {`%s{}`, ` `, frame.MaxRequest},
		"white space in the longest answer": {`%s{}`, ` `, frame.MaxAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			head, tail, _ := strings.Cut(c.message, "%s")
			room := c.size - len(head) - len(tail)
			many := strings.TrimSuffix(strings.Repeat(c.many, room/len(c.many)), ",")
			kind := binary.BigEndian.AppendUint32([]byte{frame.KindMessage}, uint32(len(head)+len(many)+len(tail)))
			sent := slices.Concat(kind, []byte(head), []byte(many), []byte(tail))
			r := against(t, func(f *far) {
				if strings.HasPrefix(c.message, `{"hello"`) {
					f.write(f.marker() + "run\n")
				} else {
					f.greet()
					f.request()
				}
				f.conn.Write(sent)
				io.Copy(io.Discard, f.conn)
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := r.Connect(testContext(t))
			if err == nil && !strings.HasPrefix(c.message, `{"hello"`) {
				_, err = r.Start(testContext(t), startRequest(new(lines)))
			}
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB allocated for %d KiB: %.200v", allocated>>10, len(sent)>>10, err)
			require.Less(t, allocated, uint64(bound))
		})
	}
}
