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
var refusedVariables = byName(map[string]string{
	"decides which programs names mean":                     "PATH EXECIGNORE",
	"decides which directory cd means":                      "CDPATH",
	"decides which start-up files shells and programs read": "HOME",
	"decides which start-up files shells read":              "ZDOTDIR",
	"decides which shell programs start":                    "SHELL",
	"decides how words are split":                           "IFS",
	"is a file that shells run":                             "ENV",
	"is text that shells run":                               "PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND",
	"changes how shells read lines":                         "SHELLOPTS",
	"changes how programs read options":                     "POSIXLY_CORRECT",
	"changes what patterns mean":                            "GLOBIGNORE",
	"is kept by shells":                                     "FUNCNEST",
	// bash evaluates their values as arithmetic, and runs the substitutions in them.
	"is evaluated by bash": "RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO EPOCHSECONDS EPOCHREALTIME UID EUID " +
		"PPID COMP_CWORD",
	// Libraries load code from these.
	"makes programs load code": "GCONV_PATH LOCPATH GLIBC_TUNABLES",
})

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
