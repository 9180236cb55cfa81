package loginshell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// written returns od's output for variables.
func written(env ...string) string {
	var b strings.Builder
	environ := []byte(strings.Join(env, "\x00") + "\x00")
	for i := 0; i < len(environ); i += 16 {
		fmt.Fprintf(&b, "%07d % x\n", i, environ[i:min(i+16, len(environ))])
	}
	fmt.Fprintf(&b, "%07d\n", len(environ))
	return b.String()
}

// find returns an output that has received text in pieces.
func find(d dumper, text []byte, piece int) *output {
	o := &output{dumper: d}
	for part := range slices.Chunk(text, piece) {
		o.Commit(copy(o.Reserve(len(part)), part))
	}
	o.Close()
	return o
}

func TestParse(t *testing.T) {
	for _, env := range [][]string{
		{"A=b"}, {"A=b", "C="}, {"A=b\nc=d\n", "\xff=\xfe\x80"}, {strings.Repeat("x", 1000) + "=" + strings.Repeat("\n", 70000)},
		{"TWELVE=byte"}, {"SIXTEEN=789abcd"}, {"SEVENTEEN=9abcdef"},
	} {
		got, err := parse([]byte(written(env...)))
		require.NoError(t, err)
		require.Equal(t, env, got)
	}
	text := written("LONG=0123456789abcdef0123456789abcdef")
	for name, wrong := range map[string]string{
		"nothing": "", "nothing of a shell": "0000000\n", "no end": text[:strings.LastIndex(text, "\n0")+1],
		"a cut": text[:70] + text[72:], "no zero at the end": "0000000 41 3d\n0000002\n",
		"a line more": text + "x\n", "an empty line": text + "\n", "a line twice": text[:strings.Index(text, "\n")+1] + text,
		"a line in between": strings.Replace(text, "\n", "\n[1] 4711\n", 1), "no digits": strings.Replace(text, "4c", "4g", 1),
		"a word before": "x" + text, "long digits": strings.Replace(text, "4c ", "4c4", 1), "a number": "12\n" + text,
	} {
		_, err := parse([]byte(wrong))
		require.ErrorIs(t, err, errGarbled, name)
	}
}

// Marks and lines are found however the bytes are divided. Bytes before, after and in between are harmless.
func TestOutput(t *testing.T) {
	d := newDumper()
	frame := d.begin + written("A=b") + d.end
	broken := d.begin + "noise\n" + written("A=c") + d.end
	for name, text := range map[string]string{
		"alone": frame, "noise": "noise" + frame + "noise", "twice": frame + d.begin + written("A=d") + d.end,
		"a broken one first": broken + frame, "a begin more": d.begin + "noise" + frame, "an end first": d.end + frame,
		"another environment, without a form": d.end + d.begin + d.end + d.begin + "A=c\x00\n" + d.end + d.begin + frame,
		"marks without lines' ends":           strings.ReplaceAll(d.begin+d.end, "\n", " ") + frame,
		"half a begin":                        d.begin[:len(d.begin)-1] + frame,
	} {
		for _, piece := range []int{1, 7, 1 << 16} {
			o := find(d, []byte(text), piece)
			require.Equal(t, []string{"A=b"}, o.env, "%s in pieces of %d", name, piece)
			require.True(t, o.done.IsSet())
		}
	}
	for name, text := range map[string]string{"broken": broken, "broken twice": broken + "noise" + broken} {
		o := find(d, []byte(text), 10)
		require.Nil(t, o.env, name)
		require.ErrorIs(t, o.err, errGarbled, name)
		require.False(t, o.done.IsSet())
	}
	for name, text := range map[string]string{
		"begin alone": frame[:len(frame)-1], "another's": strings.ReplaceAll(frame, "acpterm", "Acpterm"), "none": "noise",
	} {
		o := find(d, []byte(text), 10)
		require.Nil(t, o.env, name)
		require.NoError(t, o.err, name)
	}
}

// Noise is not kept, and too much of it ends the search. A large environment after much noise is found.
func TestOutputIsBounded(t *testing.T) {
	d := newDumper()
	o := find(d, bytes.Repeat([]byte("noise\n"), maxOutput/12), 4096)
	require.Less(t, cap(o.buf), 64<<10)
	large := "LARGE=" + strings.Repeat("x", 2<<20)
	for part := range slices.Chunk([]byte(d.begin+written(large)+d.end), 4096) {
		o.Commit(copy(o.Reserve(len(part)), part))
	}
	require.Equal(t, []string{large}, o.env)

	for _, noise := range []string{"noise\n", d.begin} {
		o := find(d, bytes.Repeat([]byte(noise), maxOutput/len(noise)+1), 4096)
		require.ErrorIs(t, o.err, errTooMuch)
		require.True(t, o.done.IsSet())
	}
}

// A command printed by a shell does not contain a mark.
func TestCommandHasNoMarks(t *testing.T) {
	d := newDumper()
	for _, text := range []string{d.argument(true), d.input(true)} {
		require.NotContains(t, text, strings.TrimSpace(d.begin))
		require.NotContains(t, text, strings.TrimSpace(d.end))
	}
	for _, enters := range []bool{false, true} {
		require.LessOrEqual(t, len(d.input(enters)), 4096)
		require.GreaterOrEqual(t, strings.Count(d.input(enters), "\n"), 5)
	}
	require.Equal(t, 1, strings.Count(d.argument(true), "fish_prompt"), "hooks run once")
	for line := range strings.Lines(d.input(false)) {
		require.True(t, strings.HasPrefix(line, " "))
	}
}

// Any other bytes between the marks are detected, at any position, or change nothing. No input causes a panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte("A=b\x00C=d\ne"), []byte("noise\n"), 20)
	f.Add([]byte("A=0123456789abcdef0123456789abcdef"), []byte("61 "), 14)
	f.Add([]byte("A=0123456789abc"), []byte("\n0000016"), 55)
	f.Add([]byte("A=01234"), []byte("\n0000005 "), 22)
	f.Fuzz(func(t *testing.T, environ, noise []byte, at int) {
		env := strings.Split(string(environ), "\x00")
		dump := written(env...)
		at = min(max(at, 0), len(dump))
		got, err := parse([]byte(dump[:at] + string(noise) + dump[at:]))
		if err == nil {
			require.Equal(t, env, got)
		}
		parse(noise)
		d := newDumper()
		o := find(d, []byte(string(noise)+d.begin+dump+d.end+string(noise)), max(1, at%100))
		require.Equal(t, env, o.env)
	})
}

// The command makes the system's programs write an environment unchanged, also with an env that does not know -0.
func TestCommandInAShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no sh")
	}
	without := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(without, []byte("#!/bin/sh\necho usage: env >&2\nexit 1\n"), 0o700))
	want := []string{"A=b\nc=d=", "EMPTY=", "INVALID=\xff\xfe", "LARGE=" + strings.Repeat("'\"\\", 30000), "PATH=/nowhere"}
	for _, env := range []string{"/usr/bin/env", without} {
		d := newDumper()
		d.env = env
		cmd := exec.Command("/bin/sh", "-c", d.argument(false))
		cmd.Env = slices.Clone(want)
		text, err := cmd.Output()
		require.NoError(t, err)
		o := find(d, text, 1<<16)
		require.NoError(t, o.err)
		got := slices.DeleteFunc(result(nil, o.env), func(v string) bool { return strings.HasPrefix(v, "_=") })
		slices.Sort(got)
		require.Equal(t, want, got)
	}
}
