package main

// @wonderwhy-er/desktop-commander.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type desktopCommander struct{ *mcp.ClientSession }

func (desktopCommander) tools(s *mcp.ClientSession) tools { return desktopCommander{s} }

// configure turns off the telemetry, the welcome page and the download of flags. The empty file stands for a browser,
// which the server would otherwise look for and download.
func (desktopCommander) configure(home string) (arguments, env []string, err error) {
	dir := filepath.Join(home, ".claude-server-commander")
	browser := filepath.Join(dir, "puppeteer-cache", "chrome", "none", "chrome-linux64")
	if err := os.MkdirAll(browser, 0o777); err != nil {
		return nil, nil, err
	}
	config, err := json.Marshal(map[string]any{
		"telemetryEnabled": false, "pendingWelcomeOnboarding": false, "welcomeOnboardingEligible": false,
		"defaultShell": "/bin/sh", "blockedCommands": []string{}, "allowedDirectories": []string{},
		"fileReadLineLimit": 1000,
	})
	if err != nil {
		return nil, nil, err
	}
	err = errors.Join(os.WriteFile(filepath.Join(browser, "chrome"), nil, 0o666),
		os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666))
	env = []string{"DESKTOP_COMMANDER_DISABLE_TELEMETRY=1", "DC_FLAG_URL=http://127.0.0.1:9/"}
	return []string{"--no-onboarding"}, env, err
}

var (
	dcStarted   = regexp.MustCompile(`^Process started with PID (\d+)`)
	dcRemaining = regexp.MustCompile(`^\[Reading [^\]]*?, (\d+) remaining\)\]`)
	dcCut       = regexp.MustCompile(`⚠️[^\n]*|\[WARNING[^\]]*\]`)
)

const dcCompleted = "✅ Process completed with exit code"

func (t desktopCommander) call(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	result, a, err := call(ctx, t.ClientSession, tool, arguments)
	if err == nil && result.IsError {
		err = fmt.Errorf("%s: %s", tool, a.text)
	}
	a.cut = dcCut.FindString(a.text)
	return a, err
}

// begin calls start_process, which returns when the command has ended, seems to wait for input, or after a time.
func (t desktopCommander) begin(ctx context.Context, line string, ms int) (answer, error) {
	a, err := t.call(ctx, "start_process", map[string]any{"command": line, "timeout_ms": ms})
	if err != nil {
		return a, err
	}
	pid := dcStarted.FindStringSubmatch(a.text)
	if pid == nil {
		return a, fmt.Errorf("start_process: %s", a.text)
	}
	a.id = pid[1]
	return a, nil
}

// run follows a command with read_process_output if it is still running.
func (t desktopCommander) run(ctx context.Context, line string) (answer, error) {
	a, err := t.begin(ctx, line, 600_000)
	ended := !strings.Contains(a.text, "is waiting for input") && !strings.Contains(a.text, "⏳")
	for err == nil && !ended {
		var page answer
		page, err = t.call(ctx, "read_process_output", map[string]any{"pid": pidOf(a.id)})
		a.text += page.text
		a.model += page.model
		ended = strings.Contains(page.text, dcCompleted)
	}
	return a, err
}

func (t desktopCommander) start(ctx context.Context, line string) (string, error) {
	a, err := t.begin(ctx, line, 100)
	return a.id, err
}

func (t desktopCommander) all(ctx context.Context, a answer) (text string, calls int, err error) {
	for offset, more := 0, true; more; calls++ {
		page, err := t.call(ctx, "read_process_output", map[string]any{"pid": pidOf(a.id), "offset": offset})
		if err != nil {
			return "", calls, err
		}
		remaining := dcRemaining.FindStringSubmatch(page.text)
		more = remaining != nil && remaining[1] != "0"
		body, _, _ := strings.Cut(after(page.text, "\n\n"), "\n"+dcCompleted)
		text += body + "\n"
		offset += strings.Count(body, "\n") + 1
	}
	return text, calls, nil
}

func (t desktopCommander) kill(ctx context.Context, id string) error {
	a, err := t.call(ctx, "force_terminate", map[string]any{"pid": pidOf(id)})
	if err == nil && !strings.HasPrefix(a.text, "Successfully") {
		err = fmt.Errorf("force_terminate: %s", a.text)
	}
	return err
}

func (t desktopCommander) commands(ctx context.Context) (string, error) {
	a, err := t.call(ctx, "list_sessions", map[string]any{})
	return a.text, err
}

func pidOf(id string) int {
	pid, err := strconv.Atoi(id)
	if err != nil {
		panic(err)
	}
	return pid
}
