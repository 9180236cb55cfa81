package mcptest

// The official conformance suite: the scenarios for servers of MCP 2025-11-25, the newest version that mcpserver speaks
// over HTTP. Most of them call tools that only a server made for the suite has. And a client made with the official
// TypeScript SDK of either version, which checks what it observes by itself (testdata/node/client.mjs).

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/mcpserver"
)

// applicable lists the scenarios that mcpserver must pass. The last three are about methods that the Go SDK answers
// although mcpserver does not advertise them.
var applicable = []string{
	"server-initialize", "server-session-lifecycle", "server-sse-multiple-streams", "dns-rebinding-protection", "ping",
	"tools-list", "logging-set-level", "prompts-list", "resources-list",
}

// inapplicable lists the other scenarios, each with the reason that its failed check or warning gives.
var inapplicable = map[string]string{
	"tools-call-simple-text":        `unknown tool "test_simple_text"`,
	"tools-call-image":              `unknown tool "test_image_content"`,
	"tools-call-audio":              `unknown tool "test_audio_content"`,
	"tools-call-embedded-resource":  `unknown tool "test_embedded_resource"`,
	"tools-call-mixed-content":      `unknown tool "test_multiple_content_types"`,
	"tools-call-with-logging":       `unknown tool "test_tool_with_logging"`,
	"tools-call-error":              `unknown tool "test_error_handling"`,
	"tools-call-with-progress":      `unknown tool "test_tool_with_progress"`,
	"tools-call-sampling":           `unknown tool "test_sampling"`,
	"tools-call-elicitation":        `unknown tool "test_elicitation"`,
	"elicitation-sep1034-defaults":  `unknown tool "test_elicitation_sep1034_defaults"`,
	"elicitation-sep1330-enums":     `unknown tool "test_elicitation_sep1330_enums"`,
	"json-schema-2020-12":           "Tool 'json_schema_2020_12_tool' not found",
	"server-sse-polling":            "This is recommended", // warnings only: it calls test_reconnection
	"completion-complete":           `method not found: "completion/complete"`,
	"resources-read-text":           "Resource not found",
	"resources-read-binary":         "Resource not found",
	"resources-templates-read":      "Resource not found",
	"resources-subscribe":           `method not found: "resources/subscribe"`,
	"resources-unsubscribe":         `method not found: "resources/subscribe"`,
	"prompts-get-simple":            `unknown prompt "test_simple_prompt"`,
	"prompts-get-with-args":         `unknown prompt "test_prompt_with_arguments"`,
	"prompts-get-embedded-resource": `unknown prompt "test_prompt_with_embedded_resource"`,
	"prompts-get-with-image":        `unknown prompt "test_prompt_with_image"`,
}

// suiteCheck is a check of a scenario.
type suiteCheck struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

func TestConformance(t *testing.T) {
	e := newEnvironment(t)
	entry := newHost(t, t.TempDir(), `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`)
	results := t.TempDir()
	cmd := exec.CommandContext(t.Context(), e.node, "--import", "./node20.mjs",
		"node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
		"--url", authorized(t, entry), "--requirements", "2025-11-25", "--output-dir", results)
	cmd.Dir = e.clients
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "scenarios that are not applicable fail")
	scenarios := readResults(t, results)
	require.Len(t, scenarios, len(applicable)+len(inapplicable), "%s", out)
	for name, checks := range scenarios {
		reason, ok := inapplicable[name]
		require.True(t, ok || slices.Contains(applicable, name), "%s is not listed", name)
		passed, failed := 0, 0
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				passed++
			case "FAILURE", "WARNING":
				failed++
				require.NotEmpty(t, reason, "%s: %s: %s", name, c.ID, c.ErrorMessage)
				require.Contains(t, c.ErrorMessage, reason, "%s: %s", name, c.ID)
			}
		}
		require.Equal(t, ok, failed > 0, "%s passes although it is listed as inapplicable", name)
		if !ok {
			require.NotZero(t, passed, "%s: no check has passed", name)
		}
		t.Logf("%s: %d checks passed; %s", name, passed, reason)
	}
}

// authorized returns the URL of a proxy that adds the header Authorization, which the suite cannot set. In Host and Origin
// headers, the server's address replaces the proxy's. Others are kept.
func authorized(t *testing.T, entry *mcpserver.Entry) string {
	target, err := url.Parse(entry.URL)
	require.NoError(t, err)
	var own string
	s := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
			if r.Out.Host = r.In.Host; r.In.Host == own {
				r.Out.Host = target.Host
			}
			if r.In.Header.Get("Origin") == "http://"+own {
				r.Out.Header.Set("Origin", "http://"+target.Host)
			}
			r.Out.Header.Set("Authorization", entry.Headers[0].Value)
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	own = s.Listener.Addr().String()
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return "http://" + own + target.Path
}

var timestamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\dTZ]*$`)

// readResults returns the checks of all scenarios.
func readResults(t *testing.T, dir string) map[string][]suiteCheck {
	t.Helper()
	scenarios := make(map[string][]suiteCheck)
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, scenario := range found {
		data, err := os.ReadFile(filepath.Join(dir, scenario.Name(), "checks.json"))
		require.NoError(t, err)
		var checks []suiteCheck
		require.NoError(t, json.Unmarshal(data, &checks))
		name := strings.TrimPrefix(timestamp.ReplaceAllString(scenario.Name(), ""), "server-")
		scenarios[name] = checks
	}
	return scenarios
}

func TestTypeScriptClient(t *testing.T) {
	e := newEnvironment(t)
	for _, version := range []int{1, 2} {
		for name, start := range transports {
			t.Run(fmt.Sprintf("%d/%s", version, name), func(t *testing.T) {
				dir := t.TempDir()
				s := start(t, e, dir)
				s.SDK = version
				config, err := json.Marshal(s)
				require.NoError(t, err)
				cmd := exec.CommandContext(t.Context(), e.node, filepath.Join(e.clients, "client.mjs"), string(config))
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				for _, scenario := range []string{
					"tools", "run", "long output", "progress", "background", "many at once", "cancellation", "elicitation",
					"mistakes", "end",
				} {
					require.Contains(t, string(out), "ok: "+scenario+"\n")
				}
			})
		}
	}
}
