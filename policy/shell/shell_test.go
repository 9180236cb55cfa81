package shell_test

// The lines that Parse refuses, and its results for others. shells_unix_test.go compares them with real shells.

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/policy/shell"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// refused are attacks, and lines that Parse cannot analyse completely.
var refused = []struct {
	name, line string
	kind       shell.Kind
}{
	{"variable as command", "$x", shell.ErrUnknownCommand},
	{"variable in front", "$x rm y", shell.ErrUnknownCommand},
	{"substitution as command", "$(echo rm) x", shell.ErrUnknownCommand},
	{"backquotes as command", "`echo rm` x", shell.ErrUnknownCommand},
	{"part of the name", "r$x y", shell.ErrUnknownCommand},
	{"quoted variable", "\"$x\"", shell.ErrUnknownCommand},
	{"glob as command", "/bin/r?", shell.ErrUnknownCommand},
	{"bracket glob", "[r]m x", shell.ErrUnknownCommand},
	{"braces as command", "{git,push}", shell.ErrUnknownCommand},
	{"braces in the name", "g{i,}t", shell.ErrUnknownCommand},
	{"brace sequence", "{a..b}", shell.ErrUnknownCommand},
	{"tilde", "~/rm", shell.ErrUnknownCommand},
	{"arithmetic", "a$((1))", shell.ErrUnknownCommand},
	{"dollar quotes", "$'rm' x", shell.ErrUnknownCommand},
	{"translated quotes", "$\"rm\" x", shell.ErrUnknownCommand},
	{"default", "${x:-rm} y", shell.ErrUnknownCommand},
	{"empty name", "'' rm", shell.ErrUnknownCommand},
	{"job", "%1", shell.ErrUnknownCommand},
	{"positional", "set -- rm; \"$@\"", shell.ErrUnknownCommand},
	{"element assignment", "a[1]=2 rm", shell.ErrUnknownCommand},

	{"eval", "eval 'rm x'", shell.ErrHidden},
	{"quoted eval", "\\e'va'l 'rm x'", shell.ErrHidden},
	{"command eval", "command eval 'rm x'", shell.ErrHidden},
	{"macOS command", "/usr/bin/command eval 'rm x'", shell.ErrHidden},
	{"env command eval", "env command eval 'rm x'", shell.ErrHidden},
	{"dot", ". ./file", shell.ErrHidden},
	{"source", "source file", shell.ErrHidden},
	{"trap", "trap 'rm x' EXIT", shell.ErrBuiltin},
	{"alias", "alias git=rm\ngit", shell.ErrHidden},
	{"enable", "enable -n git", shell.ErrHidden},
	{"builtin", "builtin eval x", shell.ErrHidden},
	{"fc", "fc -s", shell.ErrHidden},
	{"chdir", "chdir /tmp", shell.ErrHidden},
	{"setvar", "setvar PATH /tmp", shell.ErrHidden},
	{"pushd", "pushd /tmp; ./x", shell.ErrHidden},
	{"shopt", "shopt -s extglob", shell.ErrHidden},
	{"mapfile", "mapfile -C rm -c 1 x", shell.ErrHidden},
	{"bare shell", "echo rm x | sh", shell.ErrHidden},
	{"here-document to shell", "bash <<E\nrm x\nE", shell.ErrHidden},
	{"shell -s", "echo rm | sh -s", shell.ErrOption},
	{"shell -i", "sh -i", shell.ErrOption},
	{"shell dash", "echo rm | sh -", shell.ErrOption},
	{"shell stdin file", "echo rm | sh /dev/stdin", shell.ErrHidden},
	{"shell text unknown", "sh -c \"$x\"", shell.ErrHidden},
	{"shell option unknown", "sh $x 'rm y'", shell.ErrHidden},
	{"shell rcfile", "bash --rcfile x -c git", shell.ErrOption},
	{"shell extglob", "bash -O extglob -c git", shell.ErrOption},
	{"shell keyword", "bash -k -c git", shell.ErrOption},
	{"nested eval", "sh -c 'sh -c \"eval x\"'", shell.ErrHidden},
	{"zsh", "zsh -c 'path=/tmp git'", shell.ErrHidden},
	{"upper case shell", "/BIN/SH -c \"$x\"", shell.ErrHidden},
	{"su", "su -c 'rm x'", shell.ErrHidden},
	{"script", "script -c 'rm x' /dev/null", shell.ErrHidden},
	{"parallel", "parallel rm ::: x", shell.ErrHidden},
	{"watch", "watch 'rm x'", shell.ErrHidden},
	{"chroot", "chroot /tmp/x git", shell.ErrHidden},
	{"arithmetic on a variable", "x='a[$(rm y)]'; echo $((x))", shell.ErrHidden},
	{"arithmetic on output", "echo $(( $(cat file) ))", shell.ErrHidden},
	{"arithmetic assigns", "echo $((PATH=1))", shell.ErrHidden},
	{"substitution in arithmetic", "echo $((a[$(rm x)]))", shell.ErrHidden},

	{"test -v", "test -v 'a[$(rm x)]'", shell.ErrBuiltin},
	{"test operator unknown", "[ \"$a\" \"$b\" ]", shell.ErrBuiltin},
	{"test splits", "[ -n $a ]", shell.ErrBuiltin},
	{"printf -v", "printf -v PATH /tmp", shell.ErrBuiltin},
	{"printf -vNAME", "printf -vPATH /tmp", shell.ErrBuiltin},
	{"printf %n", "printf %n PATH", shell.ErrBuiltin},
	{"printf %hn", "printf '%d %-3.*hn' 1 2 PATH", shell.ErrBuiltin},
	{"printf format unknown", "printf \"$x\" PATH", shell.ErrBuiltin},
	{"read element", "read 'a[$(rm x)]'", shell.ErrBuiltin},
	{"read PATH", "echo /tmp | read PATH", shell.ErrBuiltin},
	{"read unknown", "read $x", shell.ErrBuiltin},
	{"read -a", "read -a PATH", shell.ErrBuiltin},
	{"getopts PATH", "getopts a PATH -a", shell.ErrBuiltin},
	{"unset PATH", "unset PATH", shell.ErrBuiltin},
	{"unset unknown", "unset \"$x\"", shell.ErrBuiltin},
	{"wait -p", "wait -n -p PATH", shell.ErrBuiltin},
	{"jobs -x", "jobs -x rm y", shell.ErrBuiltin},
	{"hash -p", "hash -p /tmp/evil git", shell.ErrBuiltin},
	{"set -a", "set -a; read x", shell.ErrBuiltin},
	{"set -o allexport", "set -eo allexport", shell.ErrBuiltin},
	{"set -k", "set -k; git PATH=/tmp", shell.ErrBuiltin},
	{"set unknown", "set $x", shell.ErrBuiltin},
	{"set -o unknown", "set -o posix", shell.ErrBuiltin},

	{"PATH in front", "PATH=/tmp git", shell.ErrVariable},
	{"PATH", "PATH=/tmp; git", shell.ErrVariable},
	{"IFS", "IFS=x", shell.ErrVariable},
	{"export PATH", "export PATH=/tmp", shell.ErrBuiltin},
	{"export quoted PATH", "export \"PA\"'TH'=\"$x\"", shell.ErrBuiltin},
	{"export splits", "export A=$x", shell.ErrBuiltin},
	{"export unknown", "export \"$x\"", shell.ErrBuiltin},
	{"command export", "command export PATH=/tmp", shell.ErrBuiltin},
	{"export after an assignment", "A=1 export PATH=/tmp", shell.ErrBuiltin},
	{"readonly", "readonly PATH=/tmp", shell.ErrBuiltin},
	{"loop variable", "for PATH in /tmp; do git; done", shell.ErrVariable},
	{"default assigns", "echo ${PATH:=/tmp}", shell.ErrVariable},
	{"default assigns quoted", "echo \"${IFS=x}\"", shell.ErrVariable},
	{"env PATH", "env PATH=/tmp git", shell.ErrVariable},
	{"env -u PATH", "env -u PATH git", shell.ErrVariable},
	{"sudo PATH", "sudo PATH=/tmp git", shell.ErrVariable},
	{"LD_PRELOAD", "LD_PRELOAD=./x.so git", shell.ErrVariable},
	{"DYLD", "DYLD_INSERT_LIBRARIES=x git", shell.ErrVariable},
	{"BASH_ENV", "BASH_ENV=x bash script", shell.ErrVariable},
	{"exported function", "env 'BASH_FUNC_git%%=() { rm; }' bash -c git", shell.ErrOption},
	{"RANDOM", "RANDOM='a[$(rm x)]'", shell.ErrVariable},
	{"OPTIND", "OPTIND='a[$(rm x)]'", shell.ErrVariable},
	{"PS4", "PS4='$(rm x)'; set -x; git", shell.ErrVariable},
	{"HOME", "HOME=/tmp git status", shell.ErrVariable},
	{"locale", "LC_ALL=ja_JP.SJIS; echo", shell.ErrVariable},

	{"shell -a", "sh -ac git", shell.ErrOption},
	{"shell -o allexport", "bash -o allexport -c git", shell.ErrOption},
	{"command -p", "command -p git", shell.ErrOption},
	{"command -pv", "command -pv git", shell.ErrOption},
	{"command -p in a shell", "sh -c 'command -p git'", shell.ErrOption},
	{"macOS command -p", "/usr/bin/command -p git", shell.ErrOption},
	{"env -S", "env -S 'rm x'", shell.ErrOption},
	{"env --split-string", "env --split-string='rm x'", shell.ErrOption},
	{"env -i", "env -i git", shell.ErrOption},
	{"env cluster", "env -vS 'rm x'", shell.ErrOption},
	{"env splits", "env A=$x git", shell.ErrOption},
	{"env unknown", "env \"$x\" git", shell.ErrOption},
	{"env abbreviation", "env --ch=/tmp git", shell.ErrOption},
	{"xargs name", "xargs -I{} {} x", shell.ErrUnknownCommand},
	{"xargs of env", "xargs env", shell.ErrOption},
	{"xargs of env with an assignment", "xargs env A=b", shell.ErrUnknownCommand},
	{"xargs of shell", "xargs sh", shell.ErrHidden},
	{"xargs of shell text", "xargs sh -c", shell.ErrHidden},
	{"xargs replaces text", "xargs -I{} sh -c 'git {}'", shell.ErrHidden},
	{"xargs variable", "xargs --process-slot-var=PATH git", shell.ErrOption},
	{"find unknown word", "find . $x", shell.ErrOption},
	{"find quoted unknown", "find . \"$a\" rm {} +", shell.ErrOption},
	{"find glob", "find * -name x", shell.ErrOption},
	{"find name", "find . -exec {} \\;", shell.ErrUnknownCommand},
	{"find text", "find . -exec sh -c 'git {}' \\;", shell.ErrHidden},
	{"find unknown option", "find . -newoption -exec rm {} \\;", shell.ErrOption},
	{"find end unknown", "find . -exec git $x \\;", shell.ErrOption},
	{"find -ok", "find . -ok git {} + -exec rm {} \\;", shell.ErrOption},
	{"find in another directory", "find . -execdir ./x \\;", shell.ErrDirectory},
	{"sudo shell", "sudo -s", shell.ErrOption},
	{"sudo login", "sudo -i rm", shell.ErrOption},
	{"sudo end", "sudo -- A=b rm", shell.ErrOption},
	{"doas shell", "doas -s", shell.ErrOption},
	{"exec -a", "exec -a git rm x", shell.ErrOption},
	{"time -f", "time -f x rm", shell.ErrOption},
	{"flock text", "flock file -c 'rm x'", shell.ErrUnknownCommand},
	{"strace", "strace -o '|rm x' git", shell.ErrHidden},
	{"timeout unknown", "timeout $x git", shell.ErrOption},

	{"relative after cd", "cd /tmp && ./x", shell.ErrDirectory},
	{"relative in a loop", "for i in 1 2; do ./x; cd /tmp; done", shell.ErrDirectory},
	{"relative after command cd", "command cd /tmp; a/b", shell.ErrDirectory},
	{"relative in a substitution", "cd /tmp; echo $(./x)", shell.ErrDirectory},
	{"relative in a shell", "cd /tmp; sh -c ./x", shell.ErrDirectory},
	{"env -C", "env -C /tmp ./x", shell.ErrDirectory},
	{"sudo -D", "sudo --chdir=/tmp ./x", shell.ErrDirectory},

	{"function", "git() { rm x; }", shell.ErrFunction},
	{"function in a subshell", "(ls() (rm x); ls)", shell.ErrFunction},

	{"both redirected", "a &> b", shell.ErrNotPortable},
	{"both piped", "a |& b", shell.ErrSyntax},
	{"condition", "[[ -f x && rm y ]]", shell.ErrUnknownCommand},
	{"input process", "cat <(rm x)", shell.ErrSyntax},
	{"function keyword", "function rm", shell.ErrHidden},
	{"here-string", "cat <<< $(rm)", shell.ErrNotPortable},
	{"coproc", "coproc rm x", shell.ErrHidden},
	{"extended glob", "!(x)", shell.ErrNotPortable},
	{"select", "select x in a; do rm; done", shell.ErrSyntax},
	{"arithmetic command", "((rm))", shell.ErrNotPortable},
	{"C loop", "for ((;;)); do rm; done", shell.ErrNotPortable},
	{"array", "a=(rm)", shell.ErrNotPortable},
	{"append", "A+=x git", shell.ErrNotPortable},
	{"let", "let x=1", shell.ErrHidden},
	{"declare", "declare -i x='a[$(rm y)]'", shell.ErrHidden},
	{"old arithmetic", "echo $[1]", shell.ErrNotPortable},
	{"indirection", "echo ${!x}", shell.ErrNotPortable},
	{"prompt expansion", "x='$(rm y)'; echo ${x@P}", shell.ErrNotPortable},
	{"slice", "echo ${x:0:1}", shell.ErrNotPortable},
	{"replacement", "echo ${x/a/b}", shell.ErrNotPortable},
	{"command in braces", "echo ${ rm x; }", shell.ErrNotPortable},
	{"two-digit descriptor", "12>f rm", shell.ErrNotPortable},
	{"named descriptor", "git {x}>f", shell.ErrNotPortable},
	{"file after >&", "git >&f", shell.ErrNotPortable},
	{"dollar quote ends elsewhere", "echo $'\\'; rm x #'", shell.ErrNotPortable},
	{"time with an assignment", "time A=b rm", shell.ErrNotPortable},
	{"time of a group", "time { rm; }", shell.ErrSyntax},
	{"broken up substitution", "echo \"$\\\n(rm x)\"", shell.ErrNotPortable},
	{"comment that continues", "git # \\\nrm x", shell.ErrNotPortable},
	{"quotes in a default", "echo \"${x:-'}$(rm y)'}\"", shell.ErrNotPortable},
	{"nested backquotes", "echo `echo \\`rm x\\``", shell.ErrNotPortable},
	{"backquote in quotes in backquotes", "echo \"`echo '` rm x `'`\"", shell.ErrNotPortable},
	{"here-document that older shells end early", "git \"$(cat <<'E'\na) ; rm x; (\nE\n)\"", shell.ErrNotPortable},
	{"odd end of a here-document", "cat <<$(x)\nrm\n$(x)", shell.ErrSyntax},
	{"continued here-document", "cat <<E\nE\\\n\nrm x\nE", shell.ErrNotPortable},
	{"here-document behind its substitution", "echo $(cat <<E)\nrm y\nE", shell.ErrNotPortable},
	{"here-document behind a quoted newline", "cat <<E $(git\nE\nls)\nE\nrm", shell.ErrNotPortable},
	{"two here-documents in a line", "cat <<A <<B\nx\nA\nB", shell.ErrNotPortable},
	{"here-document without an end", "cat <<E", shell.ErrSyntax},
	{"redirection in front of a loop", ">f while git; do rm; done", shell.ErrNotPortable},
	{"case that falls through", "case a in a) git ;& b) rm;; esac", shell.ErrSyntax},
	{"substitution or arithmetic", "echo $((git)|(rm))", shell.ErrSyntax},

	{"NUL", "git\x00rm", shell.ErrCharacter},
	{"not UTF-8", "git \xff", shell.ErrCharacter},
	{"carriage return", "echo a \\\r\nrm x", shell.ErrCharacter},
	{"control character", "git \x01", shell.ErrCharacter},
	{"too long", "echo " + strings.Repeat("a", 64<<10), shell.ErrTooLarge},
	{"too deep", strings.Repeat("$(", 200) + "rm" + strings.Repeat(")", 200), shell.ErrTooLarge},
	{"too many prefixes", strings.Repeat("env ", 16000) + "rm", shell.ErrTooLarge},
	{"far to the right", strings.Repeat(" ", 20000) + "eval x", shell.ErrHidden},
	{"unfinished", "git '", shell.ErrSyntax},
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			commands, err := shell.Parse(c.line)
			require.ErrorIs(t, err, c.kind, "%+v", commands)
			require.Nil(t, commands)
			var refused *shell.Error
			require.True(t, errors.As(err, &refused))
			require.NotZero(t, refused.Line)
			require.NotZero(t, refused.Column)
			require.NotEmpty(t, refused.Reason)
		})
	}
}

// show returns commands as one line, with ? for one unknown argument and * for any number.
func show(commands []shell.Command) string {
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

func showAssignments(assignments []shell.Assignment) (words []string) {
	for _, a := range assignments {
		if a.Unset {
			words = append(words, "-"+a.Name)
		} else {
			words = append(words, a.Name+"="+showArg(a.Value))
		}
	}
	return words
}

func showArg(a shell.Arg) string {
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
			commands, err := shell.Parse(c.line)
			require.NoError(t, err)
			require.Equal(t, c.want, show(commands))
		})
	}
}

func TestErrorSaysWhere(t *testing.T) {
	_, err := shell.Parse("git status\n  eval \"$x\"")
	var refused *shell.Error
	require.True(t, errors.As(err, &refused))
	require.Equal(t, shell.Error{
		Kind: shell.ErrHidden, Reason: "runs text that cannot be followed", Line: 2, Column: 3, Text: "eval",
	}, *refused)
	require.Equal(t, `shell: 2:3: hidden: runs text that cannot be followed: "eval"`, err.Error())

	_, err = shell.Parse("git; sh -c 'a; eval b'")
	require.True(t, errors.As(err, &refused))
	require.Equal(t, uint(12), refused.Column, "the start of the inner shell's text")

	_, err = shell.Parse("git 'é" + strings.Repeat("x", 1000))
	require.Less(t, len(err.Error()), 300)
}

func TestShellsWithinShellsAreBounded(t *testing.T) {
	line := "rm"
	for range 10 {
		line = "sh -c '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
	}
	_, err := shell.Parse(line)
	require.ErrorIs(t, err, shell.ErrTooLarge)
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
		first, err := shell.Parse(line)
		second, again := shell.Parse(line)
		if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(err, again) {
			t.Fatalf("not the same twice: %q", line)
		}
		if err != nil {
			var refused *shell.Error
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

func ExampleParse() {
	commands, err := shell.Parse("npm test && sudo rm -r \"$DIR\" | head > out")
	if err != nil {
		fmt.Println(err) // the line must not be run
		return
	}
	for _, c := range commands {
		fmt.Print(c.Name, " via ", c.Via)
		for _, a := range c.Args {
			fmt.Printf(" %q known=%t", a.Text, a.Literal)
		}
		for _, r := range c.Redirects {
			fmt.Print(" ", r.Op, " ", r.Path.Text)
		}
		fmt.Println()
	}
	// Output:
	// npm via [] "test" known=true
	// sudo via [] "rm" known=true "-r" known=true "\"$DIR\"" known=false
	// rm via [sudo] "-r" known=true "\"$DIR\"" known=false
	// head via [] > out
}

func ExampleError() {
	_, err := shell.Parse("git log; PATH=/tmp/mine git log")
	fmt.Println(errors.Is(err, shell.ErrVariable))
	fmt.Println(err)
	// Output:
	// true
	// shell: 1:10: variable: PATH decides which programs names mean: "PATH=/tmp/mine"
}
