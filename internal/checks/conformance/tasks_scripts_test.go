//go:build linux

package conformance

// The ten tasks. A script does what a model does that knows its tools: it takes the shortest way that they document,
// and another one when a result does not show what the task needs.

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// task is something that users ask agents to do.
type task struct {
	name  string
	files map[string]string              // of the project
	setUp func(t *testing.T, dir string) // unless it is nil
	play  func(h hands, a *actor) (solved bool)
	check func(dir string) error // unless it is nil, tells why the result is not what the task needs
}

// hands are an agent's tools for commands. Their methods make one call each, unless they say otherwise.
type hands interface {
	// run runs a line to its end, or as long as the agent waits.
	run(line string) string
	// runFor runs a line that may hang, and stops it after a time.
	runFor(line string, limit time.Duration) string
	// start starts a line in the background. It returns its output up to a text, and a job.
	start(line, until string) (output string, job job)
	// wait returns the output of a job up to a text.
	wait(job job, until string) string
	stop(job job)
	// talk starts a line that reads what say types. It returns its first output, or false if there is no such tool.
	talk(line string) (output string, job job, ok bool)
	say(job job, text string) string
}

// job names a command in the background.
type job string

const failing = "--- FAIL: TestNumber1731"

var tasks = []task{{
	name: "find the failing test among 3,000",
	files: map[string]string{
		"go.mod": "module example.com/tests\n\ngo 1.26\n", "all_test.go": manyTests(),
	},
	play: func(h hands, a *actor) bool {
		result := h.run("go test -v ./...")
		if !strings.Contains(result, failing) {
			a.wrong()
			result = h.run("go test ./... 2>&1 | head -20")
		}
		return strings.Contains(result, failing)
	},
}, {
	name:  "a dev server: start, request, stop",
	files: map[string]string{"server.js": devServer},
	play: func(h hands, a *actor) bool {
		output, server := h.start("node server.js 0", "http://")
		page := h.run("curl -s " + address(output))
		h.stop(server)
		return strings.Contains(page, "hello")
	},
	check: nothingListens,
}, {
	name: "a REPL, twice",
	play: func(h hands, a *actor) bool {
		const random = `token = require("crypto").randomBytes(8).toString("hex")`
		compare := func(result string) string {
			return fmt.Sprintf(`token === "%s" && "the same " + "token"`, regexp.MustCompile(`[0-9a-f]{16}`).FindString(result))
		}
		_, repl, ok := h.talk("node")
		if !ok {
			return throughPipe(h, "node -i", random, compare, "the same token")
		}
		solved := strings.Contains(h.say(repl, compare(h.say(repl, random))), "the same token")
		h.say(repl, ".exit")
		return solved
	},
}, {
	name:  "a long build in the background",
	files: map[string]string{"build.sh": "for i in 1 2 3 4 5 6; do echo compiling $i; sleep 1; done; echo built it\n"},
	play: func(h hands, a *actor) bool {
		_, build := h.start("sh build.sh", "")
		listed := h.run("ls")
		return strings.Contains(h.wait(build, "built it"), "built it") && strings.Contains(listed, "build.sh")
	},
}, {
	name:  "a command that asks y/n",
	files: map[string]string{"deploy.js": asks},
	play: func(h hands, a *actor) bool {
		output, deploy, ok := h.talk("node deploy.js")
		if ok {
			return strings.Contains(output, "[y/n]") && strings.Contains(h.say(deploy, "y"), "deployed")
		}
		output = h.run("node deploy.js </dev/null") // to see what it asks
		return strings.Contains(output, "[y/n]") && strings.Contains(h.run("echo y | node deploy.js"), "deployed")
	},
}, {
	name: "a log of 50 MB: its last line",
	setUp: func(t *testing.T, dir string) {
		line := strings.Repeat("compiling module after module ", 4) + "\n"
		text := strings.Repeat(line, 50_000_000/len(line)) + "error: the disk is full\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "build.log"), []byte(text), 0o600))
	},
	play: func(h hands, a *actor) bool {
		result := h.run("cat build.log")
		if !strings.Contains(result, "the disk is full") {
			a.wrong()
			result = h.run("tail -n 3 build.log")
		}
		return strings.Contains(result, "the disk is full")
	},
}, {
	name: "a denied command, and another one",
	play: func(h hands, a *actor) bool {
		h.run("touch denied.txt")
		return strings.Contains(h.run("go version"), "go version go")
	},
	check: func(dir string) error {
		if _, err := os.Stat(filepath.Join(dir, "denied.txt")); err == nil {
			return fmt.Errorf("the denied command ran")
		}
		return nil
	},
}, {
	name:  "a command that hangs",
	files: map[string]string{"hang.js": `require("child_process").spawn("sleep", ["1000"]); setInterval(() => {}, 1000)`},
	play: func(h hands, a *actor) bool {
		h.runFor("node hang.js", 3*time.Second)
		return true
	},
}, {
	name:  "git rebase -i",
	setUp: history,
	play: func(h hands, a *actor) bool {
		result := h.run("git rebase -i --autosquash HEAD~2")
		if !strings.Contains(result, "Successfully rebased") {
			a.wrong()
			result = h.run("git rebase --abort; GIT_SEQUENCE_EDITOR=: git rebase -i --autosquash HEAD~2")
		}
		return strings.Contains(result, "Successfully rebased")
	},
	check: func(dir string) error {
		count := exec.Command("git", "rev-list", "--count", "HEAD")
		count.Dir = dir
		if out, err := count.Output(); err != nil || string(out) != "2\n" {
			return fmt.Errorf("there are %s commits: %w", out, err)
		}
		return nil
	},
}, {
	name:  "two servers on one port",
	files: map[string]string{"server.js": devServer},
	play: func(h hands, a *actor) bool {
		output, first := h.start("node server.js 0", "http://")
		port := regexp.MustCompile(`\d+$`).FindString(address(output))
		refused := h.run("node server.js " + port)
		h.stop(first)
		output, second := h.start("node server.js "+port, "http://")
		page := h.run("curl -s " + address(output))
		h.stop(second)
		return strings.Contains(refused, "EADDRINUSE") && strings.Contains(page, "hello")
	},
	check: nothingListens,
}}

// address returns the address of a server in its output.
func address(output string) string {
	return regexp.MustCompile(`http://localhost:\d+`).FindString(output)
}

// throughPipe types two lines into a command without a tool for that: through a named pipe, which another process holds
// open.
func throughPipe(h hands, line, first string, second func(result string) string, want string) bool {
	result := h.run("mkfifo in; (sleep 1000 >in 2>&1 & echo $! >holder; " + line + " <in >out 2>&1 &); echo '" + first +
		"' >in; sleep 1; cat out")
	result = h.run("echo '" + second(result) + "' >in; sleep 1; cat out")
	h.run("echo .exit >in; xargs kill <holder") // Gemini CLI refuses $(cat holder)
	return strings.Contains(result, want)
}

// prepare makes the project of a task.
func (k task) prepare(t *testing.T, dir string) {
	for name, text := range k.files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if k.setUp != nil {
		k.setUp(t, dir)
	}
}

func (k task) checked(dir string) error {
	if k.check == nil {
		return nil
	}
	return k.check(dir)
}

func manyTests() string {
	var b strings.Builder
	b.WriteString("package tests\n\nimport \"testing\"\n")
	for n := range 3000 {
		body := ""
		if n == 1731 {
			body = ` t.Error("got 3, want 4") `
		}
		fmt.Fprintf(&b, "\nfunc TestNumber%04d(t *testing.T) {%s}\n", n, body)
	}
	return b.String()
}

const devServer = `const server = require("http").createServer((request, response) => response.end("hello\n"))
server.listen(Number(process.argv[2]), "localhost", () => {
	const port = server.address().port
	require("fs").writeFileSync("port", String(port))
	console.log("\n  dev server ready\n\n  Local: http://localhost:" + port + "/\n")
})
`

// asks reads an answer to a question that nobody can answer without reading it.
const asks = `const rl = require("readline").createInterface({input: process.stdin, output: process.stdout})
let answered = false
rl.question("release 1.2 is older than the deployed 1.3. Deploy it? [y/n] ", (answer) => {
	answered = true
	console.log(answer === "y" ? "deployed 1.2" : "nothing was deployed")
	rl.close()
})
rl.on("close", () => process.exit(answered ? 0 : 1))
`

func nothingListens(dir string) error {
	port, err := os.ReadFile(filepath.Join(dir, "port"))
	if err != nil {
		return err
	}
	if conn, err := net.Dial("tcp", "localhost:"+string(port)); err == nil {
		conn.Close()
		return fmt.Errorf("a server still listens")
	}
	return nil
}

// history makes a repository with a commit that belongs into the one before.
func history(t *testing.T, dir string) {
	git := func(arguments ...string) {
		cmd := exec.Command("git", arguments...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "-q")
	git("config", "user.name", "A User")
	git("config", "user.email", "user@example.com")
	for i, message := range []string{"begin", "add a file", "fixup! add a file"} {
		name := filepath.Join(dir, fmt.Sprint("file", i))
		require.NoError(t, os.WriteFile(name, []byte(message), 0o600))
		git("add", fmt.Sprint("file", i))
		git("commit", "-q", "-m", message)
	}
}
