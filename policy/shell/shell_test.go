package shell

// The lines that parse refuses, and its results for others. shells_unix_test.go compares them with real shells.

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// refused are attacks, and lines that parse cannot analyse completely. The attacks of attacks_unix_test.go run in real
// shells.
var refused = []struct {
	name, line string
	kind       kind
}{
	{"variable as command", "$x", errUnknownCommand},
	{"bracket glob", "[r]m x", errUnknownCommand},
	{"translated quotes", "$\"rm\" x", errUnknownCommand},
	{"empty name", "'' rm", errUnknownCommand},
	{"job", "%1", errUnknownCommand},
	{"element assignment", "a[1]=2 rm", errUnknownCommand},

	{"quoted eval", "\\e'va'l 'rm x'", errHidden},
	{"env command eval", "env command eval 'rm x'", errHidden},
	{"bare shell", "echo rm x | sh", errHidden},
	{"shell -s", "echo rm | sh -s", errOption},
	{"shell -i", "sh -i", errOption},
	{"shell dash", "echo rm | sh -", errOption},
	{"shell text unknown", "sh -c \"$x\"", errHidden},
	{"shell option unknown", "sh $x 'rm y'", errHidden},
	{"shell rcfile", "bash --rcfile x -c git", errOption},
	{"shell extglob", "bash -O extglob -c git", errOption},
	{"arithmetic assigns", "echo $((PATH=1))", errHidden},

	{"test operator unknown", "[ \"$a\" \"$b\" ]", errBuiltin},
	{"test splits", "[ -n $a ]", errBuiltin},
	{"printf %hn", "printf '%d %-3.*hn' 1 2 PATH", errBuiltin},
	{"printf format unknown", "printf \"$x\" PATH", errBuiltin},
	{"read unknown", "read $x", errBuiltin},
	{"read -a", "read -a PATH", errBuiltin},
	{"getopts PATH", "getopts a PATH -a", errBuiltin},
	{"unset PATH", "unset PATH", errBuiltin},
	{"wait -p", "wait -n -p PATH", errBuiltin},
	{"set -a", "set -a; read x", errBuiltin},
	{"set -o allexport", "set -eo allexport", errBuiltin},
	{"set -k", "set -k; git PATH=/tmp", errBuiltin},
	{"set unknown", "set $x", errBuiltin},
	{"set -o unknown", "set -o posix", errBuiltin},

	{"PATH in front", "PATH=/tmp git", errVariable},
	{"IFS", "IFS=x", errVariable},
	{"export quoted PATH", "export \"PA\"'TH'=\"$x\"", errBuiltin},
	{"export splits", "export A=$x", errBuiltin},
	{"export unknown", "export \"$x\"", errBuiltin},
	{"command export", "command export PATH=/tmp", errBuiltin},
	{"export after an assignment", "A=1 export PATH=/tmp", errBuiltin},
	{"readonly", "readonly PATH=/tmp", errBuiltin},
	{"loop variable", "for PATH in /tmp; do git; done", errVariable},
	{"default assigns quoted", "echo \"${IFS=x}\"", errVariable},
	{"env -u PATH", "env -u PATH git", errVariable},
	{"sudo PATH", "sudo PATH=/tmp git", errVariable},
	{"LD_PRELOAD", "LD_PRELOAD=./x.so git", errVariable},
	{"DYLD", "DYLD_INSERT_LIBRARIES=x git", errVariable},
	{"BASH_ENV", "BASH_ENV=x bash script", errVariable},
	{"exported function", "env 'BASH_FUNC_git%%=() { rm; }' bash -c git", errOption},
	{"RANDOM", "RANDOM='a[$(rm x)]'", errVariable},
	{"OPTIND", "OPTIND='a[$(rm x)]'", errVariable},
	{"locale", "LC_ALL=ja_JP.SJIS; echo", errVariable},

	{"shell -a", "sh -ac git", errOption},
	{"shell -o allexport", "bash -o allexport -c git", errOption},
	{"command -pv", "command -pv git", errOption},
	{"macOS command -p", "/usr/bin/command -p git", errOption},
	{"env --split-string", "env --split-string='rm x'", errOption},
	{"env -i", "env -i git", errOption},
	{"env cluster", "env -vS 'rm x'", errOption},
	{"env unknown", "env \"$x\" git", errOption},
	{"env abbreviation", "env --ch=/tmp git", errOption},
	{"xargs name", "xargs -I{} {} x", errUnknownCommand},
	{"xargs of env", "xargs env", errOption},
	{"xargs of env with an assignment", "xargs env A=b", errUnknownCommand},
	{"xargs of shell", "xargs sh", errHidden},
	{"xargs of shell text", "xargs sh -c", errHidden},
	{"xargs replaces text", "xargs -I{} sh -c 'git {}'", errHidden},
	{"xargs variable", "xargs --process-slot-var=PATH git", errOption},
	{"find unknown word", "find . $x", errOption},
	{"find name", "find . -exec {} \\;", errUnknownCommand},
	{"find text", "find . -exec sh -c 'git {}' \\;", errHidden},
	{"find unknown option", "find . -newoption -exec rm {} \\;", errOption},
	{"find end unknown", "find . -exec git $x \\;", errOption},
	{"find -ok", "find . -ok git {} + -exec rm {} \\;", errOption},
	{"find in another directory", "find . -execdir ./x \\;", errDirectory},
	{"sudo shell", "sudo -s", errOption},
	{"sudo end", "sudo -- A=b rm", errOption},
	{"exec -a", "exec -a git rm x", errOption},
	{"time -f", "time -f x rm", errOption},
	{"flock text", "flock file -c 'rm x'", errUnknownCommand},
	{"timeout unknown", "timeout $x git", errOption},

	{"relative after cd", "cd /tmp && ./x", errDirectory},
	{"relative in a loop", "for i in 1 2; do ./x; cd /tmp; done", errDirectory},
	{"relative after command cd", "command cd /tmp; a/b", errDirectory},
	{"relative in a substitution", "cd /tmp; echo $(./x)", errDirectory},
	{"relative in a shell", "cd /tmp; sh -c ./x", errDirectory},
	{"env -C", "env -C /tmp ./x", errDirectory},
	{"sudo -D", "sudo --chdir=/tmp ./x", errDirectory},

	{"function in a subshell", "(ls() (rm x); ls)", errFunction},

	{"both redirected", "a &> b", errNotPortable},
	{"array", "a=(rm)", errNotPortable},
	{"append", "A+=x git", errNotPortable},
	{"old arithmetic", "echo $[1]", errNotPortable},
	{"command in braces", "echo ${ rm x; }", errNotPortable},
	{"two-digit descriptor", "12>f rm", errNotPortable},
	{"file after >&", "git >&f", errNotPortable},
	{"dollar quote ends elsewhere", "echo $'\\'; rm x #'", errNotPortable},
	{"time with an assignment", "time A=b rm", errNotPortable},
	{"broken up substitution", "echo \"$\\\n(rm x)\"", errNotPortable},
	{"comment that continues", "git # \\\nrm x", errNotPortable},
	{"quotes in a default", "echo \"${x:-'}$(rm y)'}\"", errNotPortable},
	{"nested backquotes", "echo `echo \\`rm x\\``", errNotPortable},
	{"backquote in quotes in backquotes", "echo \"`echo '` rm x `'`\"", errNotPortable},
	{"here-document that older shells end early", "git \"$(cat <<'E'\na) ; rm x; (\nE\n)\"", errNotPortable},
	{"continued here-document", "cat <<E\nE\\\n\nrm x\nE", errNotPortable},
	{"here-document behind its substitution", "echo $(cat <<E)\nrm y\nE", errNotPortable},
	{"here-document behind a quoted newline", "cat <<E $(git\nE\nls)\nE\nrm", errNotPortable},
	{"two here-documents in a line", "cat <<A <<B\nx\nA\nB", errNotPortable},
	{"here-document without an end", "cat <<E", errSyntax},
	{"redirection in front of a loop", ">f while git; do rm; done", errNotPortable},
	{"case that falls through", "case a in a) git ;& b) rm;; esac", errSyntax},
	{"substitution or arithmetic", "echo $((git)|(rm))", errSyntax},

	{"not UTF-8", "git \xff", errCharacter},
	{"carriage return", "echo a \\\r\nrm x", errCharacter},
	{"too long", "echo " + strings.Repeat("a", 64<<10), errTooLarge},
	{"too deep", strings.Repeat("$(", 200) + "rm" + strings.Repeat(")", 200), errTooLarge},
	{"too many prefixes", strings.Repeat("env ", 16000) + "rm", errTooLarge},
	{"far to the right", strings.Repeat(" ", 20000) + "eval x", errHidden},
}

// hidden are builtins and programs that are refused with any arguments.
const hidden = ". source alias unalias enable builtin fc chdir setvar pushd shopt mapfile coproc let declare function " +
	"zsh su script watch strace parallel chroot"

func TestHidden(t *testing.T) {
	for _, name := range strings.Fields(hidden) {
		_, err := parse(name + " rm x")
		refused, ok := errors.AsType[*refusal](err)
		require.True(t, ok, name)
		require.Equal(t, errHidden, refused.Kind, name)
	}
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			commands, err := parse(c.line)
			require.Nil(t, commands)
			refused, ok := errors.AsType[*refusal](err)
			require.True(t, ok)
			require.Equal(t, c.kind, refused.Kind)
			require.NotZero(t, refused.Line)
			require.NotZero(t, refused.Column)
			require.NotEmpty(t, refused.Reason)
		})
	}
}

// show returns commands as one line, with ? for one unknown argument and * for any number.
func show(commands []command) string {
	var all []string
	for _, c := range commands {
		var words []string
		words = append(words, showAssignments(c.Env)...)
		name := c.Name
		if c.Builtin && name != "" {
			name += "!"
		}
		if name != "" {
			words = append(words, name)
		}
		for _, a := range c.Args {
			words = append(words, showArg(a))
		}
		for _, r := range c.Redirects {
			words = append(words, r.Op+showArg(r.Path))
		}
		if len(c.Sets) > 0 {
			words = append(words, "sets", strings.Join(showAssignments(c.Sets), " "))
		}
		if len(c.Exports) > 0 {
			words = append(words, "exports", strings.Join(c.Exports, " "))
		}
		if c.Login {
			words = append(words, "login")
		}
		text := strings.Join(words, " ")
		if len(c.Via) > 0 {
			text += " (" + strings.Join(c.Via, ", ") + ")"
		}
		if c.Moved {
			text += " moved"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func showAssignments(assignments []assignment) (words []string) {
	for _, a := range assignments {
		if a.Unset {
			words = append(words, "-"+a.Name)
		} else {
			words = append(words, a.Name+"="+showArg(a.Value))
		}
	}
	return words
}

func showArg(a arg) string {
	switch {
	case a.Literal:
		return a.Text
	case a.One:
		return "?"
	}
	return "*"
}

func TestAccepted(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"nothing", "", ""},
		{"comment", "# rm", ""},
		{"pipeline", "npm test && git diff | head", "npm test; git diff; head"},
		{"quoting", `\g\it g''it "rm" 'a b'`, "git git rm a b"},
		{"keyword in quotes", `\if a`, "if a"},
		{"look-alike", "gіt x", "gіt x"},
		{"substitution first", "echo \"$(rm x)\"", "rm x; echo! ?"},
		{"arguments", "git $x \"$x\" *.c ~/a {a,b} a{1..3} $'a' \"$@\" a$", "git * ? * ? * * ? * a$"},
		{"braces that stay", "git {} HEAD@{1} {a {}b", "git {} HEAD@{1} {a {}b"},
		{"braces around braces", "git a{},b}c", "git *"},
		{"tilde that stays", "git HEAD~1 --a=~", "git HEAD~1 ?"},
		{"numbers", "git $# $? $((1))", "git ? ? ?"},
		{"assignments", "A=1 B=$x git; C=2", "A=1 B=? git; C=2"},
		{"redirections", "echo x > ~/.bashrc 2>&1; > f; { git; } >> $x", "echo! x >?; >f; >>*; git"},
		{"here-document", "cat <<E\n$(rm x)\nE", "rm x; cat"},
		{"quoted here-document", "cat <<'E'\n$(rm x)\nE", "cat"},
		{"everywhere", "for i in $(a); do case $(b) in $(c)) x=$(d);; esac; done >$(e) <<E\n${y:-$(f)}\nE",
			"e; f; >*; a; i=?; b; c; d; x=?"},
		{"sudo", "sudo -u root A=b rm x", "sudo -u root A=b rm x; A=b rm x (sudo)"},
		{"env", "FOO=1 /usr/bin/env -u X A=\"$b\" rm", "FOO=1 /usr/bin/env -u X ? rm; FOO=1 -X A=? rm (/usr/bin/env)"},
		{"program that is a builtin", "env echo x; sudo cd y; ./z", "env echo x; echo x (env); sudo cd y; cd y (sudo); ./z"},
		{"xargs", "ls | xargs -0 -n 1 rm -f", "ls; xargs -0 -n 1 rm -f; rm -f * (xargs)"},
		{"xargs replaces", "xargs -I% git a% b", "xargs -I% git a% b; git ? b * (xargs)"},
		{"xargs alone", "xargs", "xargs; echo * (xargs)"},
		{"find", "find . -name \"$x\" -exec rm -f {} + -execdir git a{} \\;",
			"find . -name ? -exec rm -f {} + -execdir git a{} ;; rm -f * (find -exec); git ? (find -execdir) moved"},
		{"find quiet", "find src -type f -name '*.go'", "find src -type f -name *.go"},
		{"shell", "bash -lc 'git a && sh -c \"rm x\"'", "bash -lc git a && sh -c \"rm x\" login; git a (bash -c); sh -c rm x (bash -c); rm x (bash -c, sh -c)"},
		{"shell with a file", "sh build.sh -c", "sh build.sh -c"},
		{"chain", "sudo env A=1 nice -n 5 timeout 3 xargs rm",
			"sudo env A=1 nice -n 5 timeout 3 xargs rm; env A=1 nice -n 5 timeout 3 xargs rm (sudo); A=1 nice -n 5 timeout 3 xargs rm (sudo, env); A=1 timeout 3 xargs rm (sudo, env, nice); A=1 xargs rm (sudo, env, nice, timeout); A=1 rm * (sudo, env, nice, timeout, xargs)"},
		{"upper case", "SUDO rm; /usr/bin/Env ls", "SUDO rm; rm (SUDO); /usr/bin/Env ls; ls (/usr/bin/Env)"},
		{"time", "time -p rm x | ls", "time -p rm x; rm x (time); ls"},
		{"command", "command -v git; command rm x; exec git", "command! -v git; command! rm x; rm x (command); exec! git; git (exec)"},
		{"exports", "export A B=1 \"C=$x\" \"D\"; readonly E=2", "export! A B=1 ? D sets B=1 C=? exports A B C D; readonly! E=2 sets E=2"},
		{"reads", "read -r a b; read; getopts x n; unset -v a b", "read! -r a b sets a=? b=?; read! sets REPLY=?; getopts! x n sets n=? OPTARG=?; unset! -v a b sets -a -b"},
		{"login shells", "sh -l file; bash --login -c git; sh -c git", "sh -l file login; bash --login -c git login; git (bash -c); sh -c git; git (sh -c)"},
		{"cd", "(cd a && make); cd b; make > x; /bin/ls", "cd! a; make moved; cd! b; make >x moved; /bin/ls moved"},
		{"loop that moves", "while make; do cd ..; done; ls", "make moved; cd! .. moved; ls moved"},
		{"busybox", "busybox rm x", "busybox rm x; rm x (busybox)"},
		{"locale", "LC_ALL=C sort", "LC_ALL=C sort"},
	} {
		t.Run(c.name, func(t *testing.T) {
			commands, err := parse(c.line)
			require.NoError(t, err)
			require.Equal(t, c.want, show(commands))
		})
	}
}

func TestErrorSaysWhere(t *testing.T) {
	_, err := parse("git status\n  eval \"$x\"")
	var refused *refusal
	require.True(t, errors.As(err, &refused))
	require.Equal(t, refusal{
		Kind: errHidden, Reason: "runs text that cannot be followed", Line: 2, Column: 3, Text: "eval",
	}, *refused)
	require.Equal(t, `shell: 2:3: hidden: runs text that cannot be followed: "eval"`, err.Error())

	_, err = parse("git; sh -c 'a; eval b'")
	require.True(t, errors.As(err, &refused))
	require.Equal(t, uint(12), refused.Column, "the start of the inner shell's text")

	_, err = parse("git 'é" + strings.Repeat("x", 1000))
	require.Less(t, len(err.Error()), 300)
}

func TestShellsWithinShellsAreBounded(t *testing.T) {
	line := "rm"
	for range 10 {
		line = "sh -c '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
	}
	_, err := parse(line)
	require.ErrorContains(t, err, "too large")
}

func FuzzParse(f *testing.F) {
	for _, c := range refused {
		if len(c.line) < 1000 {
			f.Add(c.line)
		}
	}
	for _, line := range []string{"git a | rm", "sh -c 'env A=b rm'", "find . -exec rm {} +", "cat <<E\n$(x)\nE", "xargs -I% rm %", "cd a; b"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		first, err := parse(line)
		second, again := parse(line)
		if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(err, again) {
			t.Fatalf("not the same twice: %q", line)
		}
		if err != nil {
			var refused *refusal
			if !errors.As(err, &refused) || refused.Kind == "" || first != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		for _, c := range first {
			if c.Name == "" && !c.Builtin {
				t.Fatalf("%q: a program without a name", line)
			}
		}
	})
}
