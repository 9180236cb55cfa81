//go:build linux

package conformance

// The agents of TestAgents, with the configuration that docs/mcp.md shows, and what they need to run without a network
// and without a user.

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// agentProgram is an agent's own command line program.
type agentProgram struct {
	name      string
	arguments []string
	env       func(model string) []string
	// files returns the configuration, by names in the project or, with ~/, in the home directory.
	files func(agentSettings) map[string]any
	// tools contains acpterm's tools, for an API with namespaces. Otherwise, prefix begins the names of the tools.
	tools, prefix string
	shell         string // the agent's own tool, which the configuration turns off
	structured    bool   // the model gets the structured result instead of the text
	refusal       string // the reason for the model if a command needs the user's approval
	gaveUp        string // the error for the model if a call has taken too long
}

// agentSettings are the variable parts of a configuration.
type agentSettings struct {
	model    string            // the URL
	server   []string          // the command line of acpterm-mcp
	env      map[string]string // the variables that it needs
	patience time.Duration     // the longest time for a call
}

var agentPrograms = []agentProgram{{
	name:      "claude",
	arguments: []string{"-p", "go", "--mcp-config", ".mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__acpterm"},
	env: func(model string) []string {
		return []string{
			"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}
	},
	files: func(s agentSettings) map[string]any {
		return map[string]any{
			".mcp.json": object{"mcpServers": object{"acpterm": object{
				"command": s.server[0], "args": s.server[1:], "env": s.env, "timeout": s.patience.Milliseconds(),
			}}},
			".claude/settings.json": object{"permissions": object{"deny": []string{"Bash"}}},
		}
	},
	prefix: "mcp__acpterm__", shell: "Bash", structured: true,
	refusal: "the user dismissed the question", gaveUp: "timed out after 5s",
}, {
	name:      "codex",
	arguments: []string{"exec", "--skip-git-repo-check", "go"},
	env:       func(string) []string { return nil },
	files: func(s agentSettings) map[string]any {
		return map[string]any{"~/.codex/config.toml": codexConfig(s)}
	},
	tools: "mcp__acpterm", shell: "exec_command", structured: true,
	refusal: "the user denied it", gaveUp: "timed out awaiting tools/call after 5s",
}, {
	name:      "opencode",
	arguments: []string{"run", "go"},
	env: func(string) []string {
		return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
	},
	files: func(s agentSettings) map[string]any {
		return map[string]any{"opencode.json": object{
			"mcp": object{"acpterm": object{
				"type": "local", "command": s.server, "enabled": true,
				"environment": s.env, "timeout": s.patience.Milliseconds(),
			}},
			"permission": object{"bash": "deny"},
			"model":      "anthropic/claude-sonnet-4-5",
			"provider":   object{"anthropic": object{"options": object{"baseURL": s.model + "/v1", "apiKey": "none"}}},
		}}
	},
	prefix: "acpterm_", shell: "bash",
	refusal: "does not support elicitation", gaveUp: "Request timed out",
}, {
	name:      "gemini",
	arguments: []string{"-m", "gemini-2.5-pro", "-p", "go"},
	env: func(model string) []string {
		return []string{"GEMINI_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true", "GOOGLE_GEMINI_BASE_URL=" + model}
	},
	files: func(s agentSettings) map[string]any {
		return map[string]any{
			".gemini/settings.json": object{
				"mcpServers": object{"acpterm": object{
					"command": s.server[0], "args": s.server[1:], "trust": true,
					"env": s.env, "timeout": s.patience.Milliseconds(),
				}},
				"tools": object{"exclude": []string{"run_shell_command"}},
			},
			"~/.gemini/settings.json": object{
				"security": object{"auth": object{"selectedType": "gemini-api-key"}},
				"privacy":  object{"usageStatisticsEnabled": false},
				"general":  object{"enableAutoUpdate": false},
			},
		}
	},
	prefix: "mcp_acpterm_", shell: "run_shell_command",
	refusal: "does not support elicitation", gaveUp: "Request timed out",
}}

// codexConfig returns a configuration in TOML. Its strings and lists are written as in JSON.
func codexConfig(s agentSettings) string {
	quote := func(value any) string { return string(must(json.Marshal(value))) }
	lines := []string{
		`model = "scripted"`,
		`model_provider = "scripted"`,
		`[model_providers.scripted]`,
		`name = "scripted"`,
		`base_url = ` + quote(s.model+"/v1"),
		`wire_api = "responses"`,
		`[features]`,
		`shell_tool = false`,
		`[mcp_servers.acpterm]`,
		`command = ` + quote(s.server[0]),
		`args = ` + quote(s.server[1:]),
		`tool_timeout_sec = ` + fmt.Sprint(s.patience.Seconds()),
		`default_tools_approval_mode = "approve"`,
		`[mcp_servers.acpterm.env]`,
	}
	for name, value := range s.env {
		lines = append(lines, name+" = "+quote(value))
	}
	return strings.Join(lines, "\n")
}
