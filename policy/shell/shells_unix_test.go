//go:build unix

package shell

// Compares parse with real shells. Every line runs in a new directory with a PATH of stubs that record their arguments;
// the result of parse must contain each recorded call.

import (
	"bytes"
	"context"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stubs are the programs that only record their calls.
var stubs = []string{"git", "rm", "ls", "x", "12", "time", "declare", "function", "coproc", "select", "[[", "pushd", "let"}

// realPrograms are programs that run stubs.
var realPrograms = []string{"env", "xargs", "find", "nice", "nohup", "timeout", "setsid", "stdbuf", "flock", "sh", "bash", "dash", "cat"}

const stub = `#!/bin/sh
printf '%s\0' "${0##*/}" "$@" 'end of call' >> "$CALLS"
`

type realShell struct {
	name string
	args []string
}

var realShells = []realShell{{"sh", []string{"-c"}}, {"dash", []string{"-c"}}, {"bash", []string{"--posix", "-c"}}, {"bash", []string{"-c"}}}

// testbed is a PATH of stubs, and the shells of this machine.
type testbed struct {
	path   string
	shells []realShell
}

func newTestbed(t testing.TB) testbed {
	dir := t.TempDir()
	l := testbed{path: dir}
	for _, name := range stubs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(stub), 0o755))
	}
	for _, name := range realPrograms {
		if file, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(file, filepath.Join(dir, name)))
		}
	}
	for _, s := range realShells {
		if file, err := exec.LookPath(s.name); err == nil && !(s.name == "dash" && isDash("sh")) {
			l.shells = append(l.shells, realShell{file, s.args})
		}
	}
	require.NotEmpty(t, l.shells)
	return l
}

// isDash reports whether a program is dash under another name. dash ignores the name it is called by.
func isDash(name string) bool {
	file, _ := exec.LookPath(name)
	target, _ := filepath.EvalSymlinks(file)
	return filepath.Base(target) == "dash"
}

// calls runs a line and returns the recorded calls: names and arguments.
func (l testbed) calls(t testing.TB, s realShell, line string) [][]string {
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(work, "file"), []byte("one two\n"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(work, "d"), 0o755))
	for _, local := range []string{"rm", "d/rm"} {
		require.NoError(t, os.WriteFile(filepath.Join(work, local), []byte(stub), 0o755))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // a line may loop forever
	defer cancel()
	cmd := exec.CommandContext(ctx, s.name, append(s.args, line)...)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + l.path, "CALLS=" + log, "HOME=" + work}
	var output bytes.Buffer // an io.Writer makes Run wait for background processes
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second
	_ = cmd.Run() // most lines fail
	data, err := os.ReadFile(log)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	data = data[:min(len(data), 16<<10)]
	data = data[:bytes.LastIndexByte(data, 0)+1]
	var calls [][]string
	for _, call := range strings.SplitAfter(string(data), "end of call\x00") {
		if call, whole := strings.CutSuffix(call, "end of call\x00"); whole {
			calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
		}
	}
	return calls
}

// reported reports whether the result contains a call.
func reported(commands []command, call []string) bool {
	for _, c := range commands {
		if c.Name[strings.LastIndexByte(c.Name, '/')+1:] == call[0] && !c.Builtin && fits(c.Args, call[1:]) {
			return true
		}
	}
	return false
}

// fits reports whether arguments from parse can expand to the real ones.
func fits(args []arg, real []string) bool {
	switch {
	case len(args) == 0:
		return len(real) == 0
	case args[0].One:
		return len(real) > 0 && (!args[0].Literal || args[0].Text == real[0]) && fits(args[1:], real[1:])
	}
	for n := range len(real) + 1 {
		if fits(args[1:], real[n:]) {
			return true
		}
	}
	return false
}

// check compares a line that parse accepts with every shell. It reports whether a stub ran.
func (l testbed) check(t testing.TB, line string) (ran bool) {
	commands, err := parse(line)
	if err != nil {
		return false
	}
	for _, s := range l.shells {
		for _, call := range l.calls(t, s, line) {
			ran = true
			require.Truef(t, reported(commands, call), "%s %s ran %q, which is not in %+v\nline: %q", s.name, s.args, call, commands, line)
		}
	}
	return ran
}

// accepted are lines that parse must accept and that run at least one stub.
var accepted = []string{
	"git diff | x 3 && ls; rm a & git b || ls",
	"if git; then ls; elif x; then rm; else rm 2; fi",
	"for i in a b; do git \"$i\"; done; while git; do ls; break; done; until x; do rm; done",
	"case a in (a|b) git;; *) rm;; esac",
	"case a in a) git;; esac",
	"{ git; ls; } > out; (rm x)",
	"git $(ls a) `x b` \"$(rm c)\" \"`rm d`\"",
	"cat <<E\n$(git x) `ls` ${y:-$(rm a)}\nE",
	"cat <<'E'\n$(rm never)\nE\ngit",
	"git -m \"$(cat <<'E'\nit's a message (with) it's\nE\n)\"",
	"x=$(git) y=a ls; x=b; git \"$x\" $x",
	"git > $(ls out) 2>&1 < file",
	"g''it \\r\\m 'l's \"x\"",
	"'git' {} {a,b} a{1..3} $'a b' $\"a\" ~ ~/a *.c f?le [f]ile a=~ HEAD~1 HEAD@{1} --a={1,2}",
	"! git; ! ls | x",
	"time git a; time -p ls b; time git | rm c",
	"\\time git a",
	"FOO=1 git; FOO=1; export FOO BAR=2; git",
	"env FOO=1 git a; env -u FOO -- ls; env",
	"env -C d rm; nice -n 5 git; nice -5 ls; nohup rm x; timeout -k 1 5 git; setsid -w ls",
	"stdbuf -oL git | ls",
	"cat file | xargs git a; cat file | xargs -n1 rm; cat file | xargs -I{} ls {} b{}; cat file | xargs",
	"find . -name file -exec git {} + -o -type d -exec rm {} ';' , -execdir ls {} \\;",
	"sh -c 'git a; sh -c \"ls b\"' x y; bash -ec 'rm x'; bash -euo pipefail -c 'git'; dash -c -e git",
	"cat file | xargs sh -c 'git \"$@\"' x",
	"command git; command -v git; exec ls a",
	"cd d && git; (cd ..; ls); rm",
	"./rm a; d/rm b; cd d",
	"(cd d; rm a); ./rm b",
	"git \\\n  a \\\n  b && \\\nls",
	"git # comment ' \" $(\nls # another",
	"echo $((1 + 2 * (3))) \"$((0x1f))\"; git $((1+1))",
	"[ -f file ] && git; test -n \"$x\" || ls; [ \"$x\" = a ] || rm; [ ! -e zz ] && x",
	"set -e; set -- a b; git \"$@\" $*; shift; ls $# $? $$",
	"trap '' INT; trap - INT; umask 022; wait; git",
	"printf '%s\\n' a | while read -r l; do git \"$l\"; done",
	"git 2>/dev/null >|out; ls <>file",
	"git ${x:-a} ${x:-\"b c\"} \"${x#*/}\" ${#x} \"${x:-$(rm b)}\"",
	": ${y:=$(git)}; ls $y",
	"git;ls&x\nrm|cat&&git||ls",
	"if ! git; then ls; fi",
	"git <<-E | ls\n\ta\n\tE\n",
	"timeout \"5\" env A=b nice sh -c 'rm z'",
	"a=1 b=$a\ngit '\n' \"\n\" a\\ b",
	"exec 3>out; git >&3 3>&-",
}

func TestShellsAcceptedLines(t *testing.T) {
	t.Parallel()
	l := newTestbed(t)
	for _, line := range accepted {
		_, err := parse(line)
		require.NoError(t, err, line)
		require.True(t, l.check(t, line), "nothing ran: %q", line)
	}
}

// pieces are parts of random lines. They run only stubs, and write only in the line's directory.
var pieces = []string{
	"git", "rm a", "ls", "x", " ", " ", " ", "\n", ";", "&", "|", "&&", "||", "(", ")", "$(", ")", "`", "\"", "\"", "'", "'", "\\", "\\\n",
	"$", "$'", "$\"", "{", "}", ",", "..", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "<<<", "<(", ">(", ">", ">>", "<", "&>", "|&", ">&", "2>", "12>",
	"#", "#", "!", "time ", "if ", "then ", "else ", "fi", "while ", "do ", "done", "for i in a", "case a in ", "a) ", "(a) ", ";;", ";&", "esac",
	"${x:-", "${x#", "${x", "}", "$x", "\"$x\"", "$((", "))", "((", "1", "+", "[[ ", " ]]", "[ ", " ]", "x=1 ", "x=", "a[1]=", "+=", "function f ", "f() ",
	"exec ", "command ", "env ", "env A=b ", "nice ", "sh -c '", "sh -c \"", "bash -c '", "eval ", "cd d", "./rm", "coproc ", "select i in a", "let ", "declare ",
	"export A=", "set -- ", "*", "~", "[a]", "@(", "?", "é", "\t", "-", "--", "=", "\\$", "\\'", "\\\"", "%", "xargs ", "echo ", ":", "true",
}

func randomLine(r *rand.Rand) string {
	var b strings.Builder
	for range 2 + r.Intn(9) {
		b.WriteString(pieces[r.Intn(len(pieces))])
		if r.Intn(3) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// mutated returns an accepted line with random insertions and deletions.
func mutated(r *rand.Rand) string {
	line := accepted[r.Intn(len(accepted))]
	for range 1 + r.Intn(3) {
		i := r.Intn(len(line) + 1)
		switch r.Intn(3) {
		case 0:
			line = line[:i] + line[min(len(line), i+1):]
		default:
			line = line[:i] + pieces[r.Intn(len(pieces))] + line[i:]
		}
	}
	return line
}

func TestShellsRandomLines(t *testing.T) {
	t.Parallel()
	l := newTestbed(t)
	r := rand.New(rand.NewSource(1))
	ran := 0
	for tried := 0; ran < 60 && tried < 5000; tried++ {
		line := randomLine(r)
		if tried%2 == 0 {
			line = mutated(r)
		}
		if l.check(t, line) {
			ran++
		}
	}
	require.Equal(t, 60, ran)
}

func FuzzShells(f *testing.F) {
	l := newTestbed(f)
	for seed := range int64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		r := rand.New(rand.NewSource(seed))
		l.check(t, mutated(r))
		l.check(t, randomLine(r))
	})
}
