//go:build linux

package conformance

// The agents of TestAgents, with the configuration that docs/mcp.md shows, and what they need for a scripted model and
// to call tools without a user.

import (
	"encoding/json"
	"strings"
	"time"
)

// agentProgram is an agent's own program, and how it treats an MCP server.
type agentProgram struct {
	name      string
	arguments func(model string) []string
	env       func(model string) []string
	// documented has the configuration in docs/mcp.md, by the names of its files in the project or, with ~/, in the
	// home directory. The test makes two changes to it: one lets the agent call the tools without a question, and the
	// other one sets the longest time for a call.
	documented map[string]string
	unasked    change
	patience   func(time.Duration) change
	settings   map[string]any // more files

	namespace  string // of acpterm's tools, if the API has namespaces; otherwise, prefix begins their names
	prefix     string
	shell      string // the agent's own tool, which the configuration turns off
	structured bool   // the model gets the structured result instead of the text
	refusal    string // the reason that the model gets if a command needs the user's approval
	hasty      bool   // the agent kills acpterm-mcp before a command that ignores SIGTERM is surely gone
	gaveUp     string // the error that the model gets if a call takes longer than 5 seconds
}

// change is a replacement of a text.
type change struct{ old, new string }

// asJSON returns a value as JSON. Strings and lists of strings are the same in TOML.
func asJSON(value any) string { return string(must(json.Marshal(value))) }

// files returns the configuration, with a limit for calls and more rules for acpterm-mcp.
func (a agentProgram) files(patience time.Duration, rules ...string) map[string]string {
	files := map[string]string{}
	for name, value := range a.settings {
		files[name] = asJSON(value)
	}
	more := strings.TrimSuffix(strings.TrimPrefix(asJSON(rules), "["), "]")
	for name, text := range a.documented {
		for _, c := range []change{a.unasked, a.patience(patience), {`"go ..."`, `"go ...", ` + more}} {
			text = strings.Replace(text, c.old, c.new, 1)
		}
		files[name] = text
	}
	return files
}

// servers is the format that several agents share.
const servers = `{"mcpServers": {"acpterm": {"command": "acpterm-mcp", "args": ["-root", ".", "-allow", "go ..."]}}}`

func inMilliseconds(patience time.Duration) change {
	return change{`"acpterm": {`, `"acpterm": {"timeout": ` + asJSON(patience.Milliseconds()) + `, `}
}

var agentPrograms = []agentProgram{{
	name:      "claude",
	arguments: func(string) []string { return []string{"-p", "go", "--allowedTools", "mcp__acpterm"} },
	env: func(model string) []string {
		return []string{
			"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}
	},
	documented: map[string]string{
		".mcp.json":             servers,
		".claude/settings.json": `{"permissions": {"deny": ["Bash"]}}`,
	},
	patience: inMilliseconds,
	prefix:   "mcp__acpterm__", shell: "Bash", structured: true,
	refusal: "the user dismissed the question", gaveUp: "timed out after 5s",
}, {
	name: "codex",
	arguments: func(model string) []string {
		return []string{
			"exec", "--skip-git-repo-check", "-c", "model=scripted", "-c", "model_provider=scripted",
			"-c", "tool_output_token_limit=10000", // as it has for models that it knows; for others, 10,000 bytes
			"-c", `model_providers.scripted={name="scripted",base_url="` + model + `/v1",wire_api="responses"}`, "go",
		}
	},
	env: func(string) []string { return nil },
	documented: map[string]string{"~/.codex/config.toml": `features.shell_tool = false

[mcp_servers.acpterm]
command = "acpterm-mcp"
args = ["-root", ".", "-allow", "go ..."]
tool_timeout_sec = 600
`},
	unasked: change{"tool_timeout_sec", "default_tools_approval_mode = \"approve\"\ntool_timeout_sec"},
	patience: func(patience time.Duration) change {
		return change{"sec = 600", "sec = " + asJSON(patience.Seconds())}
	},
	namespace: "mcp__acpterm", shell: "exec_command", structured: true, hasty: true,
	refusal: "the user denied it", gaveUp: "timed out awaiting tools/call after 5s",
}, {
	name:      "opencode",
	arguments: func(string) []string { return []string{"run", "go"} },
	env: func(model string) []string {
		return []string{
			"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
			"OPENCODE_CONFIG_CONTENT=" + asJSON(object{
				"model":    "anthropic/claude-sonnet-4-5",
				"provider": object{"anthropic": object{"options": object{"baseURL": model + "/v1", "apiKey": "none"}}},
			}),
		}
	},
	documented: map[string]string{"opencode.json": `{
  "mcp": {"acpterm": {"type": "local", "command": ["acpterm-mcp", "-root", ".", "-allow", "go ..."], "enabled": true}},
  "permission": {"bash": "deny"}
}
`},
	patience: inMilliseconds,
	prefix:   "acpterm_", shell: "bash",
	refusal: "does not support elicitation", gaveUp: "Request timed out",
}, {
	name:      "gemini",
	arguments: func(string) []string { return []string{"-m", "gemini-2.5-pro", "-p", "go"} },
	env: func(model string) []string {
		return []string{"GEMINI_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true", "GOOGLE_GEMINI_BASE_URL=" + model}
	},
	documented: map[string]string{
		".gemini/settings.json":           servers,
		"~/.gemini/policies/acpterm.toml": `rule = [{toolName = "run_shell_command", decision = "deny", priority = 100}]`,
	},
	settings: map[string]any{"~/.gemini/settings.json": object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}},
		"privacy":  object{"usageStatisticsEnabled": false},
		"general":  object{"enableAutoUpdate": false},
	}},
	unasked:  change{`"command"`, `"trust": true, "command"`},
	patience: inMilliseconds,
	prefix:   "mcp_acpterm_", shell: "run_shell_command",
	refusal: "does not support elicitation", gaveUp: "Request timed out",
}}
