//go:build unix

package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

func writeProgram(t *testing.T, path, text string) {
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
}

func command(dir, path string, args ...string) *frame.Command {
	return &frame.Command{Args: frame.Texts(args), Dir: frame.Bytes(dir), Env: frame.Texts([]string{"PATH=" + path})}
}

// Unusable requests get the errors of acpterm.
func TestLookErrors(t *testing.T) {
	t.Parallel()
	c := serve(t)
	dir := hosttest.RealTempDir(t)
	require.NoError(t, os.WriteFile(dir+"/file", nil, 0o600))
	for _, test := range []struct {
		look                *frame.Command
		kind, field, reason string
	}{
		{command("relative", "", "x"), "invalid_params", "cwd", "must be an absolute path"},
		{command(dir+"/none", "", "x"), "invalid_params", "cwd", "no such file or directory"},
		{command(dir+"/file", "", "x"), "invalid_params", "cwd", "not a directory"},
		{command(dir+"\x00", "", "x"), "invalid_params", "cwd", "must not contain NUL"},
		{command(dir, ""), "invalid_params", "command", "must not be empty"},
		{command(dir, "", ""), "invalid_params", "command", "must not be empty"},
		{command(dir, "", "x\x00"), "invalid_params", "command", "must not contain NUL"},
		{command(dir, "", "x", "a", "\x00"), "invalid_params", "args[1]", "must not contain NUL"},
		{command(dir, "\x00", "x"), "invalid_params", "env[0]", "must not contain NUL"},
		{command(dir, dir, "none"), "command_not_found", "", ""},
		{command(dir, dir, "file"), "not_executable", "command", "cannot be executed: permission denied"},
		{command(dir, dir, "./"), "not_executable", "command", "cannot be executed: is a directory"},
	} {
		reply := c.ask(frame.Request{Look: test.look})
		require.Nil(t, reply.Found)
		require.Equal(t, &frame.Error{Kind: test.kind, Field: test.field, Reason: test.reason}, reply.Error)
	}
	for _, dir := range []string{"", "relative", dir + "/none", "/\x00"} {
		reply := c.ask(frame.Request{RealDir: &frame.RealDir{Dir: frame.Bytes(dir)}})
		require.Equal(t, "invalid_params", reply.Error.Kind, dir)
	}
}

// Only the program and the directory of the lookup run, not a replacement.
func TestPins(t *testing.T) {
	t.Parallel()
	c := serve(t)
	dir := hosttest.RealTempDir(t)
	in, program := dir+"/in", dir+"/program"
	move := func(from, to string) { require.NoError(t, os.Rename(from, to)) }
	link := func(to, path string) { require.NoError(t, os.Symlink(to, path)) }
	for name, change := range map[string]func(){
		"nothing":                  func() {},
		"the program is replaced":  func() { writeProgram(t, dir+"/new", "echo ran; pwd"); move(dir+"/new", program) },
		"the program is changed":   func() { writeProgram(t, program, "echo ran; pwd; exit 1") },
		"the program is gone":      func() { require.NoError(t, os.Remove(program)) },
		"the program is a link":    func() { move(program, dir+"/away"); link("away", program) },
		"the directory is another": func() { move(in, dir+"/old"); require.NoError(t, os.Mkdir(in, 0o700)) },
		"the directory is a link":  func() { move(in, dir+"/old"); link("old", in) },
		"the directory is gone":    func() { require.NoError(t, os.Remove(in)) },
	} {
		for _, path := range []string{in, dir + "/old", dir + "/away", program} {
			require.NoError(t, os.RemoveAll(path))
		}
		require.NoError(t, os.Mkdir(in, 0o700))
		writeProgram(t, program, "echo ran; pwd")
		found := c.ask(frame.Request{Look: command(in, dir, "program")}).Found
		start := c.shell("")
		start.Command.Args = frame.Texts([]string{"program"})
		start.Command.Path, start.Command.Dir, start.Pin = found.Path, found.Dir, found.Pin
		change()
		if name != "nothing" {
			e := c.refused(start)
			require.Equal(t, "denied", e.Kind, name)
			require.Equal(t, "unchanged", e.Rule, name)
			continue
		}
		number, p := c.start(start)
		c.awaitExit(p)
		require.Equal(t, "ran\n"+in+"\n", string(c.now(p).output))
		c.end(number, p)
	}
}

// A program rewritten after the lookup does not run, even if its size and modification time are the same.
func TestPinOfARewrittenProgram(t *testing.T) {
	t.Parallel()
	c := serve(t)
	dir := hosttest.RealTempDir(t)
	writeProgram(t, dir+"/program", "echo safe")
	before, err := os.Stat(dir + "/program")
	require.NoError(t, err)
	look := frame.Request{Look: command(dir, dir, "program")}
	start := c.shell("")
	found := c.ask(look).Found
	start.Command.Args = frame.Texts([]string{"program"})
	start.Command.Path, start.Command.Dir, start.Pin = found.Path, found.Dir, found.Pin

	require.Eventually(t, func() bool { // the system's clock is coarse: waits until the change time differs
		writeProgram(t, dir+"/program", "echo evil")
		require.NoError(t, os.Chtimes(dir+"/program", before.ModTime(), before.ModTime()))
		return c.ask(look).Found.Pin != found.Pin
	}, time.Minute, time.Millisecond)
	after, err := os.Stat(dir + "/program")
	require.NoError(t, err)
	require.Equal(t, before.Size(), after.Size())
	require.Equal(t, before.ModTime(), after.ModTime())
	require.Equal(t, "unchanged", c.refused(start).Rule)
}

// A link to the directory of a pin does not match the pin; without a pin it is accepted.
func TestPinOfALink(t *testing.T) {
	t.Parallel()
	c := serve(t)
	dir := hosttest.RealTempDir(t)
	require.NoError(t, os.Mkdir(dir+"/in", 0o700))
	require.NoError(t, os.Symlink("in", dir+"/link"))
	start := c.shell("pwd -P")
	shell, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	start.Command.Path = frame.Bytes(shell)
	start.Pin = c.ask(frame.Request{Look: command(dir+"/link", "", "/bin/sh")}).Found.Pin
	start.Command.Dir = frame.Bytes(dir + "/link")
	require.Equal(t, "denied", c.refused(start).Kind)
	start.Pin = ""
	number, p := c.start(start)
	c.awaitExit(p)
	require.Equal(t, dir+"/in\n", string(c.now(p).output))
	c.end(number, p)
}

// Failed starts get the errors of acpterm.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	c := serve(t)
	dir := hosttest.RealTempDir(t)
	require.NoError(t, os.WriteFile(dir+"/text", []byte("no program"), 0o700))
	require.NoError(t, os.WriteFile(dir+"/lost", []byte("#!"+dir+"/none\n"), 0o700))
	require.NoError(t, os.WriteFile(dir+"/plain", nil, 0o600))
	for _, test := range []struct {
		change      func(*frame.Start)
		kind, field string
	}{
		{func(s *frame.Start) { s.Command.Path = nil }, "invalid_params", "command"},
		{func(s *frame.Start) { s.Command.Path = frame.Bytes("sh") }, "invalid_params", "command"},
		{func(s *frame.Start) { s.Command.Path = frame.Bytes("/bin/sh\x00") }, "invalid_params", "command"},
		{func(s *frame.Start) { s.Command.Path = frame.Bytes(dir + "/none") }, "command_not_found", ""},
		{func(s *frame.Start) { s.Command.Path = frame.Bytes(dir + "/text") }, "not_executable", "command"},
		{func(s *frame.Start) { s.Command.Path = frame.Bytes(dir + "/lost") }, "not_executable", "command"},
		{func(s *frame.Start) { s.Command.Path = frame.Bytes(dir + "/plain") }, "not_executable", "command"},
		{func(s *frame.Start) { s.Command.Args = nil }, "invalid_params", "command"},
		{func(s *frame.Start) { s.Command.Dir = frame.Bytes("relative") }, "invalid_params", "cwd"},
		{func(s *frame.Start) { s.Command.Dir = frame.Bytes(dir + "/none") }, "invalid_params", "cwd"},
		{func(s *frame.Start) { s.Pin = "another" }, "denied", ""},
		{func(s *frame.Start) { s.MarkName, s.MarkValue = "", "" }, "internal", ""},
		{func(s *frame.Start) { s.MarkName, s.MarkValue = "HOME", "x" }, "internal", ""},
	} {
		start := c.shell("exit 0")
		test.change(&start)
		e := c.refused(start)
		require.Equal(t, test.kind, e.Kind, "%+v", e)
		require.Equal(t, test.field, e.Field, "%+v", e)
	}
}
