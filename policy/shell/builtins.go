package shell

// The builtins of the shells, and the checks of their arguments. A name is refused if it is a builtin in one shell and
// a program in another.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// builtin describes a builtin.
type builtin struct {
	// check returns the reason to refuse the arguments, or "".
	check func(args []word) string
	// sets returns the variables that the builtin sets, removes or exports, for arguments that check allows.
	sets func(args []word) (sets []assignment, exports []string)
	// file means that systems also have a safe program with this name.
	file bool
}

const (
	oneShell    = "only some shells have this builtin"
	runsText    = "runs text that cannot be followed"
	changesText = "changes what later names mean"
)

// builtins and hiddenBuiltins are the builtins of dash, bash, busybox ash and FreeBSD's sh.
var builtins = map[string]builtin{
	":": {}, "true": {file: true}, "false": {file: true}, "echo": {file: true}, "pwd": {file: true},
	"cd": {}, "kill": {file: true}, "umask": {}, "ulimit": {}, "times": {}, "type": {},
	"exit": {}, "return": {}, "break": {}, "continue": {}, "shift": {}, "fg": {}, "bg": {},
	"command": {}, "exec": {}, // also in prefixes

	"test":     {check: checkTest, file: true},
	"[":        {check: checkTest, file: true},
	"printf":   {check: checkPrintf, file: true},
	"read":     {check: checkRead, sets: setsRead},
	"getopts":  {check: checkGetopts, sets: setsGetopts},
	"unset":    {check: checkUnset, sets: setsUnset},
	"export":   {check: checkExport, sets: setsExport},
	"readonly": {check: checkExport, sets: setsReadonly},
	"set":      {check: checkSet},
	"trap":     {check: checkTrap},
	"jobs":     {check: only("-l", "-p")}, // -x runs its arguments
	"hash":     {check: only("-r")},       // -p sets the file of a name
	"wait":     {check: checkWait},        // -p assigns
}

// hiddenBuiltins are refused with any arguments, for these reasons.
var hiddenBuiltins = byName(map[string]string{
	runsText:           "eval . source fc",
	changesText:        "alias unalias enable",
	"is for functions": "local",
	oneShell: "builtin declare typeset let shopt mapfile readarray bind complete compgen compopt pushd popd dirs " +
		"disown caller history help logout suspend chdir setvar jobid wordexp freebsd_wordexp nameref print " +
		"whence function select coproc repeat noglob nocorrect [[",
})

// checkName returns the reason why a builtin must not write a variable, or "".
func checkName(a word) string {
	if !a.Literal || !isName(a.Text) {
		return "not the name of a variable: bash runs substitutions in it"
	}
	return variableProblem(assignment{Name: a.Text})
}

// testOperators are the binary operators of test.
var testOperators = []string{
	"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a", "-o",
}

// checkTest requires known operators: bash's -v and -R accept an array's element and run the substitutions in its
// index.
func checkTest(args []word) string {
	if n := len(args); n > 0 && args[n-1].Literal && args[n-1].Text == "]" {
		args = args[:n-1]
	}
	literals := true
	for _, a := range args {
		if a.Literal && (a.Text == "-v" || a.Text == "-R") {
			return "bash runs substitutions in the operand of " + a.Text
		}
		if !a.One {
			return "an operand that may become several words; quote it"
		}
		literals = literals && a.Literal
	}
	for len(args) > 1 && args[0].Literal && args[0].Text == "!" {
		args = args[1:]
	}
	switch {
	case literals, len(args) < 2, len(args) == 2 && args[0].Literal:
		return ""
	case len(args) == 3 && args[1].Literal && slices.Contains(testOperators, args[1].Text):
		return ""
	}
	return "an operator that is not known"
}

// counted matches bash's %n, which assigns to the variable named by its argument.
var counted = regexp.MustCompile(`%[-+ #0'*.0-9]*[hlqjztL]*n`)

// checkPrintf refuses -v and %n, which assign variables.
func checkPrintf(args []word) string {
	plain := dropOption(args, "--")
	switch {
	case len(plain) == 0:
		return ""
	case !plain[0].Literal:
		return "a format that is not known"
	case len(plain) == len(args) && strings.HasPrefix(plain[0].Text, "-"):
		return "an option"
	case counted.MatchString(plain[0].Text):
		return "%n assigns a variable"
	}
	return ""
}

// readNames returns the arguments of read after its options.
func readNames(args []word) []word {
	for len(args) > 0 && args[0].Literal &&
		(args[0].Text == "-r" || args[0].Text == "-p" && len(args) > 1 && args[1].One) {
		if args[0].Text == "-p" {
			args = args[1:]
		}
		args = args[1:]
	}
	return args
}

func checkRead(args []word) string { return checkNames(readNames(args)) }

// setsRead returns the variables that read sets. Without a name, bash sets REPLY.
func setsRead(args []word) (sets []assignment, _ []string) {
	names := readNames(args)
	if len(names) == 0 {
		names = []word{{arg: arg{Text: "REPLY"}}}
	}
	for _, a := range names {
		sets = append(sets, assignment{Name: a.Text, Value: arg{One: true}})
	}
	return sets, nil
}

func checkNames(args []word) string {
	for _, a := range args {
		if reason := checkName(a); reason != "" {
			return reason
		}
	}
	return ""
}

func checkGetopts(args []word) string {
	if len(args) < 2 || !args[0].Literal {
		return "not the options and a name"
	}
	return checkName(args[1])
}

func setsGetopts(args []word) (sets []assignment, _ []string) {
	for _, name := range []string{args[1].Text, "OPTARG"} {
		sets = append(sets, assignment{Name: name, Value: arg{One: true}})
	}
	return sets, nil
}

// dropOption drops a leading option if it is one of options.
func dropOption(args []word, options ...string) []word {
	if len(args) > 0 && args[0].Literal && slices.Contains(options, args[0].Text) {
		return args[1:]
	}
	return args
}

func checkUnset(args []word) string { return checkNames(dropOption(args, "-v", "-f")) }

func setsUnset(args []word) (sets []assignment, _ []string) {
	for _, a := range dropOption(args, "-v", "-f") {
		sets = append(sets, assignment{Name: a.Text, Unset: true})
	}
	return sets, nil
}

func checkExport(args []word) string {
	for _, a := range dropOption(args, "-p") {
		set, ok := a.assignment()
		if !ok {
			// Older dash splits the value of export x=$y into words, and exports each.
			if _, _, value := strings.Cut(a.start, "="); value {
				return "a value that may become several words; quote it"
			}
			if reason := checkName(a); reason != "" {
				return reason
			}
			continue
		}
		if reason := variableProblem(set); reason != "" {
			return reason
		}
	}
	return ""
}

func setsExport(args []word) (sets []assignment, exports []string) {
	for _, a := range dropOption(args, "-p") {
		if set, ok := a.assignment(); ok {
			sets = append(sets, set)
			exports = append(exports, set.Name)
		} else {
			exports = append(exports, a.Text)
		}
	}
	return sets, exports
}

func setsReadonly(args []word) (sets []assignment, _ []string) {
	sets, _ = setsExport(args)
	return sets, nil
}

// shellFlags are the options of shells and of set that do not change how lines are read. It excludes -a, which exports
// every variable set afterwards.
const shellFlags = "befhmnuvxC"

// shellOptions are the same options for -o.
var shellOptions = []string{
	"errexit", "monitor", "noclobber", "noexec", "noglob", "notify", "nounset", "pipefail", "verbose", "xtrace",
}

func checkSet(args []word) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.Literal && a.Text == "--":
			return ""
		case a.dashless() && a.start[0] != '+':
			return ""
		case !a.Literal || len(a.Text) < 2:
			return "an option that is not known; write set -- first"
		}
		for _, flag := range a.Text[1:] {
			if flag != 'o' {
				if !strings.ContainsRune(shellFlags, flag) {
					return fmt.Sprintf("option %c", flag)
				}
				continue
			}
			if i++; i < len(args) && !(args[i].Literal && slices.Contains(shellOptions, args[i].Text)) {
				return "an option that is not in the table"
			}
		}
	}
	return ""
}

// checkTrap allows only resetting and ignoring signals.
func checkTrap(args []word) string {
	args = dropOption(args, "--")
	if len(args) == 0 || args[0].Literal && slices.Contains([]string{"", "-", "-l", "-p"}, args[0].Text) {
		return ""
	}
	return runsText
}

func checkWait(args []word) string {
	for _, a := range args {
		if !a.dashless() {
			return "may be an option; only $! and numbers are known"
		}
	}
	return ""
}

// only returns a check that allows these options and any operands.
func only(options ...string) func([]word) string {
	return func(args []word) string {
		for _, a := range args {
			if !a.dashless() && !(a.Literal && slices.Contains(options, a.Text)) {
				return "an option that is not in the table"
			}
		}
		return ""
	}
}
