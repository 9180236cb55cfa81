//go:build linux || darwin || freebsd

package terminaltest

// Tests of commands anywhere: directories, programs and variables.

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func anywhereTests() []test {
	return []test{
		{"TheEnvironmentIsThePlaces", TestTheEnvironmentIsThePlaces},
		{"DirectoriesThatCannotBe", TestDirectoriesThatCannotBe},
		{"ProgramsThatCannotBe", TestProgramsThatCannotBe},
	}
}

// A request's variables take precedence over the place's. None of this process's variables reach another place.
func TestTheEnvironmentIsThePlaces(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	req := ShellRequest("env; pwd")
	out := RunToEnd(t, m, req).Output
	require.Contains(t, out, "\nPATH=")
	if !p.Local {
		require.NotEmpty(t, os.Getenv(SecretVariable))
		require.NotContains(t, out, SecretVariable)
	}
	req.Cwd = p.TempDir(t)
	req.Env = []acpterm.EnvVariable{{Name: "HOME", Value: "/of/the/request"}, {Name: "NEW", Value: "a=\u00e9\n b"}}
	out = "\n" + RunToEnd(t, m, req).Output
	require.Equal(t, 1, strings.Count(out, "\nHOME="))
	require.Contains(t, out, "\nHOME=/of/the/request\n")
	require.Contains(t, out, "\nNEW=a=\u00e9\n b\n")
	require.Contains(t, out, "\nPWD="+req.Cwd+"\n")
	require.True(t, strings.HasSuffix(out, "\n"+req.Cwd+"\n"))
}

func TestDirectoriesThatCannotBe(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	dir := p.TempDir(t)
	require.NoError(t, p.writeFile(dir+"/file", nil, 0o600))
	for _, cwd := range []string{dir + "/missing", dir + "/file", dir + "/file/below", "relative", ".", dir + "/\x00"} {
		req := p.Child("pwd")
		req.Cwd = cwd
		require.Equal(t, CreateError{acpterm.ErrInvalidParams, "cwd", "", -32602}, FailedCreate(t, m, req), "%q", cwd)
	}
}

func TestProgramsThatCannotBe(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	dir := p.TempDir(t)
	require.NoError(t, p.writeFile(dir+"/plain", []byte("#!/bin/sh\n"), 0o600))
	for command, want := range map[string]CreateError{
		"acpterm-no-such-program": {acpterm.ErrCommandNotFound, "", "acpterm-no-such-program", -32002},
		dir + "/missing":          {acpterm.ErrCommandNotFound, "", dir + "/missing", -32002},
		dir + "/plain":            {acpterm.ErrNotExecutable, "command", dir + "/plain", -32602},
		dir:                       {acpterm.ErrNotExecutable, "command", dir, -32602},
		"":                        {acpterm.ErrInvalidParams, "command", "", -32602},
	} {
		require.Equal(t, want, FailedCreate(t, m, CommandRequest(command)), "%q", command)
	}
}
