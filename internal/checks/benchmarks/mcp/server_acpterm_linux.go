package main

// acpterm-mcp, built from this repository.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const acptermName = "acpterm-mcp"

// build builds acpterm-mcp. The path is valid until remove is called.
func build() (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "acpterm-benchmark-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	path = filepath.Join(dir, acptermName)
	cmd := exec.Command("go", "build", "-o", path, "github.com/acpterm/acpterm/cmd/acpterm-mcp")
	if output, err := cmd.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("go build: %w\n%s", err, output)
	}
	return path, remove, nil
}

// acptermServer runs every command, as the other servers do.
func acptermServer(built string) server {
	return server{
		name: acptermName,
		command: func(dir string, more ...string) (*exec.Cmd, error) {
			root := filepath.Join(dir, "root")
			if err := os.MkdirAll(root, 0o777); err != nil {
				return nil, err
			}
			return exec.Command(built, append([]string{"-root", root, "-others", "allow"}, more...)...), nil
		},
		tools: func(s *mcp.ClientSession) tools { return acptermTools{s, nil} },
	}
}

type acptermTools struct {
	*mcp.ClientSession
	arguments map[string]any // further ones of run
}

// acptermResult is what this program reads of a result.
type acptermResult struct {
	ID           string `json:"id"`
	State        string `json:"state"`
	Output       string `json:"output"`
	NextOffset   int64  `json:"next_offset"`
	OmittedBytes int64  `json:"omitted_bytes"`
	LostBytes    int64  `json:"lost_bytes"`
	More         bool   `json:"more"`
}

func (t acptermTools) call(ctx context.Context, tool string, arguments map[string]any) (acptermResult, answer, error) {
	var r acptermResult
	result, a, err := call(ctx, t.ClientSession, tool, arguments)
	if err != nil {
		return r, a, err
	}
	if result.IsError {
		return r, a, fmt.Errorf("%s: %s", tool, a.text)
	}
	encoded, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return r, a, err
	}
	if err := json.Unmarshal(encoded, &r); err != nil {
		return r, a, err
	}
	a.id = r.ID
	if r.OmittedBytes+r.LostBytes > 0 {
		a.cut = fmt.Sprintf("omitted_bytes %d, lost_bytes %d", r.OmittedBytes, r.LostBytes)
	}
	return r, a, nil
}

func (t acptermTools) run(ctx context.Context, line string) (answer, error) {
	arguments := map[string]any{"command": line, "wait_ms": 600_000}
	for name, value := range t.arguments {
		arguments[name] = value
	}
	r, a, err := t.call(ctx, "run", arguments)
	if err == nil && r.State != "ended" {
		err = fmt.Errorf("run returned in the state %s", r.State)
	}
	return a, err
}

func (t acptermTools) start(ctx context.Context, line string) (string, error) {
	_, a, err := t.call(ctx, "run", map[string]any{"command": line, "wait_ms": 0})
	return a.id, err
}

func (t acptermTools) all(ctx context.Context, a answer) (text string, calls int, err error) {
	for offset, more := int64(0), true; more; calls++ {
		r, _, err := t.call(ctx, "output", map[string]any{"id": a.id, "offset": offset, "show": "start"})
		if err != nil {
			return "", calls, err
		}
		text += r.Output
		offset, more = r.NextOffset, r.More
	}
	return text, calls, nil
}

func (t acptermTools) kill(ctx context.Context, id string) error {
	_, _, err := t.call(ctx, "kill", map[string]any{"id": id})
	return err
}

func (t acptermTools) commands(ctx context.Context) (string, error) {
	_, a, err := call(ctx, t.ClientSession, "list", nil)
	return a.text, err
}
