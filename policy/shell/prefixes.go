package shell

// Programs that run another program, and their options. An option missing in the table is an error: if it has a value,
// the command is another word.

import "strings"

// prefix describes where a program's arguments contain the command.
type prefix struct {
	kind prefixKind
	// flags are the short options without a value, values those with one.
	flags, values string
	// long are the long options.
	long map[string]valueKind
	// operands is the number of words between the options and the command.
	operands int
	// assigns allows NAME=value in front of the command.
	assigns bool
	// moves are the options that change the directory.
	moves []string
	// unsets are the options whose value is the name of a variable to remove.
	unsets []string
	// replaces are the options whose value is a text in the command's arguments that input replaces.
	replaces []string
	// ends are the options that make the program run no command.
	ends string
	// refused maps refused options to specific reasons.
	refused map[string]string
	// numbers allows -NUMBER as an option.
	numbers bool
	// standard is the default command.
	standard string
	// input means that the program appends arguments that it reads to the command.
	input bool
}

// prefixKind is the kind of the arguments after the options.
type prefixKind int

const (
	runsProgram prefixKind = iota // a program and its arguments
	runsShell                     // a shell's options and text
	runsFound                     // find's expression
	runsBuiltin                   // a builtin or a program
)

// valueKind is the form of a long option.
type valueKind int

const (
	noValue       valueKind = iota // --name
	needsValue                     // --name=value or --name value
	optionalValue                  // --name or --name=value
)

const (
	notFollowed = "runs programs in a way that is not followed"
	otherShell  = "a shell with another language"
	noPath      = "without PATH, names may mean other programs"
)

// timeout is the program timeout, which Homebrew calls gtimeout.
var timeout = prefix{
	flags: "fpv", values: "ks", operands: 1,
	long: map[string]valueKind{
		"foreground": noValue, "preserve-status": noValue, "verbose": noValue, "kill-after": needsValue,
		"signal": needsValue,
	},
}

// prefixes holds the programs, keyed by tableName.
var prefixes = map[string]prefix{
	"sh": {kind: runsShell}, "dash": {kind: runsShell}, "bash": {kind: runsShell}, "ash": {kind: runsShell},

	"exec":    {},
	"command": {kind: runsBuiltin, ends: "vV", refused: map[string]string{"p": "looks names up in another PATH"}},
	"find":    {kind: runsFound},
	"env": {
		flags: "0v", values: "uC", assigns: true, moves: []string{"C", "chdir"}, unsets: []string{"u", "unset"},
		long: map[string]valueKind{"null": noValue, "debug": noValue, "unset": needsValue, "chdir": needsValue},
		refused: map[string]string{
			"i": noPath, "ignore-environment": noPath, "": noPath, "S": runsText, "split-string": runsText,
		},
	},
	"xargs": {
		flags: "0rtpxo", values: "adEILnPs", standard: "echo", input: true,
		replaces: []string{"I", "replace"},
		long: map[string]valueKind{
			"null": noValue, "no-run-if-empty": noValue, "verbose": noValue, "interactive": noValue, "exit": noValue,
			"open-tty": noValue, "arg-file": needsValue, "delimiter": needsValue, "max-args": needsValue,
			"max-procs": needsValue, "max-chars": needsValue, "max-lines": optionalValue, "eof": optionalValue,
			"replace": optionalValue,
		},
	},
	"sudo": {
		flags: "ABEHPSbkn", values: "CDTUgpru", assigns: true, moves: []string{"D", "chdir"},
		long: map[string]valueKind{
			"askpass": noValue, "background": noValue, "preserve-env": optionalValue, "set-home": noValue,
			"non-interactive": noValue, "preserve-groups": noValue, "stdin": noValue, "reset-timestamp": noValue,
			"user": needsValue, "group": needsValue, "prompt": needsValue, "close-from": needsValue,
			"chdir": needsValue, "command-timeout": needsValue,
		},
	},
	"doas":    {flags: "n", values: "u"},
	"time":    {flags: "p"},
	"nohup":   {},
	"setsid":  {flags: "cfw", long: map[string]valueKind{"ctty": noValue, "fork": noValue, "wait": noValue}},
	"nice":    {values: "n", numbers: true, long: map[string]valueKind{"adjustment": needsValue}},
	"timeout": timeout, "gtimeout": timeout,
	"stdbuf": {values: "ioe", long: map[string]valueKind{"input": needsValue, "output": needsValue, "error": needsValue}},
	"ionice": {
		flags: "t", values: "cn",
		long: map[string]valueKind{"class": needsValue, "classdata": needsValue, "ignore": noValue},
	},
	"flock": {
		flags: "sexnoF", values: "wE", operands: 1,
		long: map[string]valueKind{
			"shared": noValue, "exclusive": noValue, "nonblock": noValue, "nb": noValue, "close": noValue, "no-fork": noValue,
			"timeout": needsValue, "wait": needsValue, "conflict-exit-code": needsValue,
		},
	},
	"busybox": {}, "toybox": {},
}

// hiddenPrograms are refused with any arguments, for these reasons. The keys are tableNames.
var hiddenPrograms = byName(map[string]string{
	otherShell: "zsh ksh ksh93 mksh oksh loksh pdksh yash csh tcsh fish rc es rbash posh hush nu elvish xonsh osh " +
		"ysh pwsh powershell cmd pwsh-preview pwsh-lts powershell_ise git-bash",
	notFollowed: "wsl conhost su runuser script watch parallel sem chroot unshare nsenter setpriv strace ltrace at " +
		"batch crontab screen tmux pkexec run0 systemd-run taskset chrt setarch linux32 linux64 numactl " +
		"prlimit cpulimit unbuffer rlwrap start-stop-daemon run-parts xvfb-run dbus-run-session caffeinate " +
		"arch entr fakeroot firejail bwrap capsh choom daemon daemonize gdb valgrind perf expect socat " +
		"catchsegv",
})

// byName returns the reason for each of the names, which blanks separate.
func byName(names map[string]string) map[string]string {
	reasons := make(map[string]string)
	for reason, all := range names {
		for _, name := range strings.Fields(all) {
			reasons[name] = reason
		}
	}
	return reasons
}
