package lookup

// The encoding of PowerShell's output. No variable, and no option of PowerShell, can set it.

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// utf8Output makes PowerShell write UTF-8 to a pipe, and pass UTF-8 to programs, instead of the code page of its
// console. PowerShell joins the arguments after -Command. A restricted session that forbids this keeps the code page.
const utf8Output = "try{$OutputEncoding=[Console]::OutputEncoding=New-Object Text.UTF8Encoding}catch{};"

// isPowerShell reports whether a file is PowerShell, judging by its name: Windows PowerShell, or a later one.
func isPowerShell(path string) (is, ofWindows bool) {
	name := strings.ToLower(strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe"))
	return name == "powershell" || name == "pwsh" || name == "pwsh-preview", name == "powershell"
}

// powerShellLine returns the command line that makes PowerShell write UTF-8, or "" if the arguments have no text of a
// command, as for a script.
func powerShellLine(args []string, ofWindows bool) string {
	at := commandText(args, ofWindows)
	if at < 0 {
		return ""
	}
	words := slices.Insert(slices.Clone(args), at, utf8Output)
	for i, word := range words {
		words[i] = syscall.EscapeArg(word)
	}
	return strings.Join(words, " ")
}

// commandText returns the index of the first argument with the text of a command, or -1. Options may be abbreviated.
func commandText(args []string, ofWindows bool) int {
	for i := 1; i < len(args); i++ {
		arg := strings.ToLower(args[i])
		name := strings.TrimLeft(arg, "-/")
		switch {
		case name == arg: // the text itself for Windows PowerShell, and a script for others
			if ofWindows {
				return i
			}
			return -1
		case name != "" && strings.HasPrefix("command", name):
			if i+1 < len(args) && args[i+1] != "-" { // "-" reads the text from standard input
				return i + 1
			}
			return -1
		case takesValue(name):
			i++
		case name == "" || strings.HasPrefix("file", name) || name[0] == 'e': // a script, or an encoded text
			return -1
		}
	}
	return -1
}

// takesValue reports whether the next argument is the value of an option.
func takesValue(name string) bool {
	return slices.Contains([]string{"ep", "if", "of", "wd", "o", "v", "w"}, name) ||
		slices.ContainsFunc([]string{
			"executionpolicy", "inputformat", "outputformat", "version", "windowstyle", "psconsolefile",
			"configurationname", "configurationfile", "settingsfile", "workingdirectory", "custompipename",
		}, func(option string) bool {
			const shortest = 2 // or 3, but "in" may also be interactive
			return len(name) >= shortest && name != "in" && strings.HasPrefix(option, name)
		})
}
