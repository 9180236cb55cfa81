//go:build linux

package conformance

// The ways to run commands of TestTasks: acpterm-mcp as docs/mcp.md configures it, and the agents' own tools.

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ways returns both ways of an agent.
func ways(a agentProgram) []way {
	return []way{{
		name: "acpterm", namespace: a.namespace,
		hands: func(m *actor) hands { return acptermHands{m, a.prefix} },
		belongs: func(tool string) bool {
			return a.namespace != "" && tool == a.namespace || a.namespace == "" && strings.HasPrefix(tool, a.prefix)
		},
		files: func() map[string]string {
			return a.files(10*time.Minute, "-others", "allow", "-pty", "allow", "-deny", "touch ...")
		},
	}, ownWay(a)}
}

// ownWay returns the agent's own shell, with its configuration that allows all commands but touch.
func ownWay(a agentProgram) way {
	w := map[string]way{
		"claude": {
			hands:     func(m *actor) hands { return &claudeHands{actor: m} },
			belongs:   func(tool string) bool { return tool == "Bash" || tool == "TaskStop" },
			arguments: []string{"Bash", "TaskStop"},
			files: func() map[string]string {
				return map[string]string{".claude/settings.json": `{"permissions": {"deny": ["Bash(touch:*)"]}}`}
			},
		},
		"codex": {
			hands:     func(m *actor) hands { return codexHands{m} },
			belongs:   func(tool string) bool { return tool == "exec_command" || tool == "write_stdin" },
			arguments: []string{"--sandbox", "danger-full-access"},
			files: func() map[string]string {
				return map[string]string{
					"~/.codex/rules/default.rules": `prefix_rule(pattern = ["touch"], decision = "forbidden")` + "\n",
				}
			},
		},
		"opencode": {
			hands:   func(m *actor) hands { return shellHands{m, "bash", "timeout"} },
			belongs: func(tool string) bool { return tool == "bash" },
			files: func() map[string]string {
				return map[string]string{"opencode.json": `{"permission": {"bash": {"*": "allow", "touch *": "deny"}}}`}
			},
		},
		"gemini": {
			hands:     func(m *actor) hands { return shellHands{m, "run_shell_command", ""} },
			belongs:   func(tool string) bool { return strings.Contains(tool, "shell") || strings.Contains(tool, "background") },
			arguments: []string{"--approval-mode", "yolo"},
			files: func() map[string]string {
				return map[string]string{
					"~/.gemini/settings.json": asJSON(a.settings["~/.gemini/settings.json"]),
					"~/.gemini/policies/touch.toml": `rule = [{toolName = "run_shell_command", commandPrefix = "touch", ` +
						`decision = "deny", priority = 900}]`,
				}
			},
		},
	}[a.name]
	w.name = "own"
	return w
}

// acptermHands are the tools of acpterm-mcp.
type acptermHands struct {
	*actor
	prefix string
}

func (h acptermHands) use(tool string, input object) string { return h.call(h.prefix+tool, input) }

func (h acptermHands) run(line string) string { return h.use("run", object{"command": line}) }

func (h acptermHands) runFor(line string, limit time.Duration) string {
	result := h.use("run", object{"command": line, "wait_ms": limit.Milliseconds()})
	if regexp.MustCompile(runs).MatchString(result) {
		h.stop(startedJob(result))
	}
	return result
}

func (h acptermHands) start(line, until string) (output string, started job) {
	input := object{"command": line}
	if until == "" { // otherwise, run returns when the server listens
		input["wait_ms"] = 0
	}
	output = h.use("run", input)
	started = startedJob(output)
	if until != "" && !strings.Contains(output, until) {
		output = h.wait(started, until)
	}
	return output, started
}

func (h acptermHands) wait(id job, until string) string {
	return h.use("wait", object{"id": string(id), "until": until})
}

func (h acptermHands) stop(id job) { h.use("kill", object{"id": string(id)}) }

func (h acptermHands) talk(line string) (output string, started job, ok bool) {
	output = h.use("run", object{"command": line, "pty": true})
	return output, startedJob(output), true
}

// startedJob returns the command in a result of run.
func startedJob(result string) job {
	for _, id := range commandIDs(result) {
		return job(id)
	}
	return ""
}

func (h acptermHands) say(id job, text string) string {
	return h.use("write", object{"id": string(id), "text": text + "\n"})
}

// shellHands are a tool that runs a line to its end, as those of opencode and Gemini CLI. Other commands run in the
// background of the shell, with their output in a file.
type shellHands struct {
	*actor
	tool    string
	timeout string // the name of the argument, if there is one
}

func (h shellHands) run(line string) string {
	return h.call(h.tool, object{"command": line, "description": "Runs a command"})
}

func (h shellHands) runFor(line string, limit time.Duration) string {
	if h.timeout == "" {
		return h.run(fmt.Sprintf("timeout %d %s", int(limit.Seconds()), line))
	}
	return h.call(h.tool, object{
		"command": line, "description": "Runs a command", h.timeout: limit.Milliseconds(),
	})
}

func (h shellHands) start(line, until string) (output string, started job) {
	output = h.run(line + " >job.log 2>&1 & echo pid $!; " + reading(until, "job.log"))
	return output, job(regexp.MustCompile(`pid (\d+)`).FindString(output))
}

// reading returns a line that prints a file once it has a text.
func reading(until, file string) string {
	return fmt.Sprintf("until grep -q '%s' %s; do sleep 0.2; done; cat %s", until, file, file)
}

func (h shellHands) wait(_ job, until string) string { return h.run(reading(until, "job.log")) }

func (h shellHands) stop(started job) { h.run("kill " + strings.TrimPrefix(string(started), "pid ")) }

func (h shellHands) talk(string) (string, job, bool) { return "", "", false }
func (h shellHands) say(job, string) string          { return "" }

// claudeHands are the tool Bash of Claude Code. It names a file with the output of a command in the background. TaskStop
// ends one, and has to be searched for first.
type claudeHands struct {
	*actor
	searched bool
}

func (h *claudeHands) run(line string) string {
	return h.call("Bash", object{"command": line, "description": "Runs a command"})
}

func (h *claudeHands) runFor(line string, limit time.Duration) string {
	result := h.call("Bash", object{"command": line, "description": "Runs a command", "timeout": limit.Milliseconds()})
	if id := inBackground.FindStringSubmatch(result); id != nil {
		h.stop(job(id[1]))
	}
	return result
}

var (
	inBackground = regexp.MustCompile(`ID: (\w+)`)
	outputFile   = regexp.MustCompile(`/\S+\.output`)
)

func (h *claudeHands) start(line, until string) (output string, started job) {
	output = h.call("Bash", object{"command": line, "description": "Starts a command", "run_in_background": true})
	id := inBackground.FindStringSubmatch(output)
	file := outputFile.FindString(output)
	if id == nil || file == "" {
		return output, ""
	}
	started = job(id[1] + " " + file)
	if until != "" {
		output = h.wait(started, until)
	}
	return output, started
}

func (h *claudeHands) wait(started job, until string) string {
	_, file, _ := strings.Cut(string(started), " ")
	return h.run(reading(until, file))
}

func (h *claudeHands) stop(started job) {
	if !h.searched {
		h.searched = true
		h.call("ToolSearch", object{"query": "select:TaskStop", "max_results": 1})
	}
	id, _, _ := strings.Cut(string(started), " ")
	h.call("TaskStop", object{"task_id": id})
}

func (h *claudeHands) talk(string) (string, job, bool) { return "", "", false }
func (h *claudeHands) say(job, string) string          { return "" }

// codexHands are the tools exec_command and write_stdin of Codex.
type codexHands struct{ *actor }

var codexSession = regexp.MustCompile(`session ID (\d+)`)

func (h codexHands) exec(line string, terminal bool, wait time.Duration) string {
	return h.call("exec_command", object{"cmd": line, "login": false, "tty": terminal, "yield_time_ms": wait.Milliseconds()})
}

func (h codexHands) write(started job, text string, wait time.Duration) string {
	id, _ := strconv.Atoi(string(started))
	return h.call("write_stdin", object{"session_id": id, "chars": text, "yield_time_ms": wait.Milliseconds()})
}

// session returns the job of a command that runs on.
func (codexHands) session(result string) (started job, runs bool) {
	if id := codexSession.FindStringSubmatch(result); id != nil {
		return job(id[1]), true
	}
	return "", false
}

func (h codexHands) run(line string) string {
	result := h.exec(line, false, 30*time.Second)
	for started, runs := h.session(result); runs; {
		more := h.write(started, "", time.Minute)
		result += more
		_, runs = h.session(more)
	}
	return result
}

func (h codexHands) runFor(line string, limit time.Duration) string {
	result := h.exec(line, true, limit)
	if started, runs := h.session(result); runs {
		h.stop(started)
	}
	return result
}

func (h codexHands) start(line, until string) (output string, started job) {
	output = h.exec(line, true, time.Second)
	started, _ = h.session(output)
	if until != "" && !strings.Contains(output, until) {
		output = h.wait(started, until)
	}
	return output, started
}

func (h codexHands) wait(started job, until string) (output string) {
	for range 10 {
		output = h.write(started, "", 5*time.Second)
		if _, runs := h.session(output); !runs || strings.Contains(output, until) {
			break
		}
	}
	return output
}

func (h codexHands) stop(started job) { h.write(started, "\x03", time.Second) }

func (h codexHands) talk(line string) (output string, started job, ok bool) {
	output = h.exec(line, true, time.Second)
	started, _ = h.session(output)
	return output, started, true
}

func (h codexHands) say(started job, text string) string {
	return h.write(started, text+"\n", time.Second)
}
