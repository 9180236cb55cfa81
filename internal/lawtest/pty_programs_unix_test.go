//go:build linux || darwin || freebsd

package lawtest

// Common programs on a PTY, and the effect of hostile output on an agent.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

// git pages output that does not fit the terminal, and a commit without a message opens an editor. Neither waits for a
// user.
func TestGitOnAPTY(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) *exec.Cmd {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		return cmd
	}
	require.NoError(t, git("init", "-q").Run())
	var history strings.Builder
	for i := range 200 {
		fmt.Fprintf(&history, "commit refs/heads/main\ncommitter n <e> %d +0000\ndata <<E\nsubject %d\nE\n", 1_700_000_000+i, i)
	}
	load := git("fast-import", "--quiet")
	load.Stdin = strings.NewReader(history.String())
	require.NoError(t, load.Run())

	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Env: append(os.Environ(), "PAGER=less", "EDITOR=vi", "GIT_PAGER=less",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")}})
	log := hosttest.Finish(t, m, hosttest.CommandRequest("git", "-C", dir, "log", "main"), onPTY())
	require.True(t, log.ExitStatus().Success())
	text := log.Output().Output
	require.Equal(t, 200, strings.Count(text, "\ncommit ")+1)
	require.Contains(t, text, "\n    subject 0\n")
	require.NotContains(t, text, "\x1b")
	commit := hosttest.Finish(t, m, hosttest.CommandRequest("git", "-C", dir, "-c", "user.name=n", "-c", "user.email=e", "commit",
		"--allow-empty"), onPTY())
	require.Contains(t, commit.Output().Output, "empty commit message")
}

func TestInteractivePythonEndsOnKill(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("ACPTERM_REQUIRE_PYTHON") == "" {
		t.Skip("there is no python3")
	}
	require.NoError(t, err)
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, hosttest.CommandRequest(python, "-q", "-i"), onPTY())
	hosttest.AwaitOutput(t, term, ">>> ")
	fmt.Fprintln(term, "6 * 7")
	hosttest.AwaitOutput(t, term, "42\r\n")
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGHUP", *term.ExitStatus().Signal)
}

// hostile holds sequences that try to steer a terminal, or to make it answer.
var hostile = []string{
	"\x1b]0;title\a", "\x1b]2;title\x1b\\", "\x1b]52;c;c2VjcmV0\a", "\x1b]52;c;?\a", "\x1b]8;;http://example/\alink\x1b]8;;\a",
	"\x1b[c", "\x1b[>c", "\x1b[=c", "\x1b[5n", "\x1b[6n", "\x1b[?6n", "\x1b[21t", "\x1b[14t", "\x1b[18t", "\x1b[>q",
	"\x1b[?2004h", "\x1b[?1000h\x1b[?1006h", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?1004h", "\x1bPq#0;2;0;0;0#0~~@@vv@@~~$-\x1b\\",
	"\x1bP$q\"p\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gf=100;AAAA\x1b\\", "\x1b^private\x1b\\", "\x1bXstring\x1b\\",
	"\x1b]0;\x1b]52;c;x\a\a", "\x1bP\x1b]0;x\a\x1b\\", "\u009b31m", "\u009d0;t\u009c", "\x9b31m", "\x1b[999999999;999999999H",
	"\x1b[4294967296b", "x\x1b[2147483647b", "\x1b[1;1r", "\x1b[100000L", "\x1b[100000@", "\x1b#8", "\x1bc", "\x1b[3J\x1b[2J",
	"\x0e\x0f\x1b(0qqq\x1b(B", "\x05", "\x07", "\x7f", "\u202etext", "\x1b[", "\x1b]", "\x1bP", "\xff\xfe", "\xe2\x82",
}

// A million bytes of sequences and random bytes reach the agent as text only, within the limit.
func TestHostileOutputReachesTheAgentAsText(t *testing.T) {
	const limit = 20_000
	random := rand.NewChaCha8([32]byte{1})
	var output strings.Builder
	for output.Len() < 1_000_000 {
		output.WriteString(hostile[random.Uint64()%uint64(len(hostile))])
		noise := make([]byte, random.Uint64()%20)
		random.Read(noise)
		output.Write(noise)
	}
	file := filepath.Join(t.TempDir(), "hostile")
	require.NoError(t, os.WriteFile(file, []byte(output.String()), 0o600))
	m := hosttest.NewManager(t, nil)
	req := shellRequest("stty raw; cat " + file + "; echo; echo end")
	req.OutputByteLimit = new(uint64(limit))
	term := hosttest.Create(t, m, req, onPTY())
	for range 20 { // in the middle of sequences, too
		requirePlain(t, term.Output().Output, limit)
	}
	hosttest.AwaitExit(t, term)
	requirePlain(t, term.Output().Output, limit)
	require.True(t, term.Output().Truncated)
}

// requirePlain fails for text that could steer a terminal.
func requirePlain(t *testing.T, text string, limit int) {
	t.Helper()
	require.LessOrEqual(t, len(text), limit)
	require.True(t, utf8.ValidString(text))
	for _, c := range text {
		if unicode.IsControl(c) && c != '\n' {
			require.Failf(t, "a control character", "%q", c)
		}
	}
}

// A poll shows the current contents of the terminal, and the answer with an exit status shows all of it.
func TestWirePollsOfAPTY(t *testing.T) {
	dir := t.TempDir()
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{PTY: new(acpterm.PTYOptions)}})
	agent := hosttest.Connect(t, m, nil)
	id := agent.Create("pieces", filepath.Join(dir, "go"),
		`"first \x1b[31mred\x1b[m\n"`, `"  0 %"`, `"\r100 %"`, `"\r\x1b[Kdone\n"`)
	for i, text := range []string{"first red\n", "first red\n  0 %", "first red\n100 %"} {
		agent.Poll(id, text)
		require.Equal(t, text, agent.Output(id).Output)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("go.%d", i)), nil, 0o600))
	}
	agent.MustDo(acpterm.MethodWaitForExit, hosttest.Of(id))
	out := agent.Output(id)
	require.Equal(t, "first red\ndone\n", out.Output)
	require.False(t, out.Truncated)
	require.NotNil(t, out.ExitStatus)
}

// Limits hold for a command on a PTY too.
func TestPTYWithLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // not supported
	}
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Limits: &acpterm.Limits{OpenFiles: 50}},
	})
	term := hosttest.Finish(t, m, shellRequest("ulimit -n; test -t 0 && tty >/dev/null && echo terminal"), onPTY())
	require.Equal(t, "50\nterminal\n", term.Output().Output)
}
