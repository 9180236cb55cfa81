//go:build linux || darwin || freebsd

package main

// The client on a terminal of its own, with a person at it who signs in or does not.

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/signin"
)

// guarded is the example agent that requires a sign-in.
func guarded(t *testing.T) (agent []string, tokens string) {
	tokens = filepath.Join(t.TempDir(), "tokens")
	return append(exampleAgent(), "-tokens", tokens), tokens
}

func TestSignIn(t *testing.T) {
	agent, tokens := guarded(t)
	d := openWindow(t, 200, 30, nil, agent, "-mcp", "-ask", "-prompt", line("print", "hello"))
	d.answer("? Sign in? y yes, n no: ", "perhaps\n")
	d.answer("? Sign in? y yes, n no: ", "y\n")
	d.answer("Password: ", "sesame\n")
	d.answer("N never: ", "y\n") // the terminal is for questions now, with lines and echo
	d.exit(exitTurnEnded)
	require.FileExists(t, tokens)
	text := d.text()
	require.Contains(t, text, `1  "Password": "Asks for the password of the example: sesame"`+"\n")
	require.Contains(t, text, "--sign-in")
	require.Contains(t, text, "You are signed in.\n")
	require.Contains(t, text, "[1] | hello\n")
	require.NotContains(t, text[strings.Index(text, "Password:\n"):], "sesame")

	d = openWindow(t, 200, 30, nil, agent, "-prompt", line("print", "again")) // and once is enough
	d.exit(exitTurnEnded)
	require.NotContains(t, d.text(), "Sign in?")
}

func TestSignInIsRefused(t *testing.T) {
	agent, tokens := guarded(t)
	d := openWindow(t, 200, 30, nil, agent, "-prompt", "x")
	d.answer("? Sign in? ", "n\n")
	d.exit(exitNotSignedIn)
	require.Contains(t, d.text(), `"Authentication required" (code -32000): you did not want to`+"\n")
	require.NoFileExists(t, tokens)
}

// What the program says counts: the client fails, and the terminal is as before.
func TestSignInFails(t *testing.T) {
	agent, tokens := guarded(t)
	shell := func(agent []string) []string {
		return slices.Concat([]string{"/bin/sh", "-c", `stty -a >&2; "$0" "$@"; code=$?; stty -a >&2; exit $code`},
			clientCommand(agent, "-prompt", "x"))
	}
	d := openWindowWith(t, 200, 30, nil, shell(agent))
	d.answer("? Sign in? ", "y\n")
	d.answer("Password: ", "guess\n")
	d.exit(exitNotSignedIn)
	text := d.text()
	require.Contains(t, text, `sign in by "password": exit code 1`)
	before, after := strings.Index(text, "speed "), strings.LastIndex(text, "speed ")
	require.Greater(t, after, before)
	require.True(t, strings.HasPrefix(text[before:], strings.TrimSpace(text[after:])), text)
	require.NoFileExists(t, tokens)
}

// A signal ends the client while the program asks, and the program with it; so does one during the question.
func TestSignInIsInterrupted(t *testing.T) {
	for _, question := range []string{"? Sign in? ", "Password: "} {
		agent, _ := guarded(t)
		d := openWindow(t, 200, 30, nil, agent, "-prompt", "x")
		if question != "? Sign in? " {
			d.answer("? Sign in? ", "y\n")
		}
		d.answer(question, "")
		require.NoError(t, syscall.Kill(d.PID(), syscall.SIGTERM))
		d.exit(exitInterrupted)
	}
}

// The program's terminal has the size of the person's, and follows it.
func TestSignInFollowsTheSize(t *testing.T) {
	d := openWindow(t, 200, 30, nil, part("agent-that-wants-sign-in"), "-prompt", "x")
	d.answer("? Sign in? ", "1\n")
	d.answer("30 200\r\n", "")
	d.resize(70, 20)
	d.answer("20 70\r\n", "")
	d.answer("? Sign in? ", "1\n")
	d.answer("20 70\r\n", "")
	d.resize(71, 21)
	d.answer("21 71\r\n", "")
	d.exit(exitNotSignedIn) // twice is enough
}

// wantSignIn is an agent that never has enough of it. To sign in is to change the size of the terminal.
func wantSignIn(args []string) {
	if len(args) > 0 && args[len(args)-1] == "--sign-in" {
		const line = `trap 'stty size; exit 0' WINCH; stty size; while :; do sleep 0.02; done`
		if err := syscall.Exec("/bin/sh", []string{"sh", "-c", line}, os.Environ()); err != nil {
			panic(err)
		}
	}
	serveOffer([]any{map[string]any{
		"id": "size", "name": "Size", "type": "terminal", "args": []string{"--sign-in"},
	}}, "")
}

// serveOffer is an agent that only ever wants a sign-in, and says so when a file is there, if one is named.
func serveOffer(methods any, goOn string) {
	handle := func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		if req.Method == "initialize" {
			return map[string]any{"protocolVersion": 1, "authMethods": methods}, nil
		}
		if goOn != "" {
			awaitFile(goOn)
		}
		return nil, &jsonrpc2.Error{Code: signin.CodeRequired, Message: "Authentication required"}
	}
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio{}), jsonrpc2.HandlerWithError(handle))
	<-conn.DisconnectNotify()
}

func init() { parts["agent-that-wants-sign-in"] = wantSignIn }

// Without a terminal the error says what to do.
func TestSignInWithoutATerminal(t *testing.T) {
	t.Parallel()
	agent, tokens := guarded(t)
	c := startClientAs(t, nil, &syscall.SysProcAttr{Setsid: true}, agent, "-prompt", "x")
	c.exit(exitNotSignedIn)
	require.Contains(t, c.stderr.String(), "There is no terminal to sign in on: run this on one, or sign in with the agent's")
	require.NoFileExists(t, tokens)
	require.NoError(t, os.WriteFile(tokens, nil, 0o600))
	c = startClientAs(t, nil, &syscall.SysProcAttr{Setsid: true}, agent, "-prompt", line("print", "hello"))
	c.exit(exitTurnEnded)
}
