package shell

// The variables that a line must not assign, because they change which programs names mean or how text is read.

import (
	"regexp"
	"strings"
)

var (
	name   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	isName = name.MatchString
)

// refusedVariables are compared case-sensitively.
var refusedVariables = map[string]string{
	"PATH":            "decides which programs names mean",
	"CDPATH":          "decides which directory cd means",
	"HOME":            "decides which start-up files shells and programs read",
	"ZDOTDIR":         "decides which start-up files shells read",
	"SHELL":           "decides which shell programs start",
	"IFS":             "decides how words are split",
	"ENV":             "is a file that shells run",
	"PS0":             "is text that shells run",
	"PS1":             "is text that shells run",
	"PS2":             "is text that shells run",
	"PS3":             "is text that shells run",
	"PS4":             "is text that shells run",
	"PROMPT_COMMAND":  "is text that shells run",
	"SHELLOPTS":       "changes how shells read lines",
	"POSIXLY_CORRECT": "changes how programs read options",
	"GLOBIGNORE":      "changes what patterns mean",
	"EXECIGNORE":      "decides which programs names mean",
	"FUNCNEST":        "is kept by shells",
	// bash evaluates values of these as arithmetic, and runs the substitutions in them.
	"RANDOM": "is evaluated by bash", "SRANDOM": "is evaluated by bash", "SECONDS": "is evaluated by bash",
	"OPTIND": "is evaluated by bash", "HISTCMD": "is evaluated by bash", "LINENO": "is evaluated by bash",
	"EPOCHSECONDS": "is evaluated by bash", "EPOCHREALTIME": "is evaluated by bash", "UID": "is evaluated by bash",
	"EUID": "is evaluated by bash", "PPID": "is evaluated by bash", "COMP_CWORD": "is evaluated by bash",
	// Libraries load code from these.
	"GCONV_PATH": "makes programs load code", "LOCPATH": "makes programs load code",
	"GLIBC_TUNABLES": "makes programs load code",
}

// refusedPrefixes are prefixes of other refused names.
var refusedPrefixes = map[string]string{
	"BASH":  "changes how bash reads lines",
	"LD_":   "makes programs load code",
	"DYLD_": "makes programs load code",
	"HIST":  "is kept by shells",
}

// harmlessLocale matches locales that decode bytes like this package does. In others, such as Shift JIS, a backslash
// can be the second byte of a character.
var harmlessLocale = regexp.MustCompile(`^(?:|C|POSIX|(?:[A-Za-z_]*[.])?(?i:utf-?8)(?:@[a-z]+)?)$`)

// variableProblem returns the reason to refuse an assignment, or "".
func variableProblem(a assignment) string {
	if reason := refusedVariables[a.Name]; reason != "" {
		return a.Name + " " + reason
	}
	for prefix, reason := range refusedPrefixes {
		if strings.HasPrefix(a.Name, prefix) {
			return a.Name + " " + reason
		}
	}
	if a.Name == "LANG" || strings.HasPrefix(a.Name, "LC_") {
		if !a.Value.Literal || !harmlessLocale.MatchString(a.Value.Text) {
			return a.Name + " may change how bytes are read"
		}
	}
	return ""
}
