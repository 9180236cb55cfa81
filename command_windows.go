package acpterm

// What differs between systems when a command is looked up and started: here, Windows, where a program gets one
// line of text, and what it makes of the line is its own business.

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

// envKey is what makes two names of variables the same: Windows compares them without case.
func envKey(name string) string { return strings.ToUpper(name) }

// withSystemRoot adds SYSTEMROOT to an environment that lacks it; without it programs cannot load even the
// system's libraries. Package os/exec does the same.
func withSystemRoot(env []string) []string {
	for _, variable := range env {
		if name, _, _ := cutVariable(variable); envKey(name) == "SYSTEMROOT" {
			return env
		}
	}
	return append(slices.Clip(env), "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
}

// hostEnviron is this process's environment, each name once.
func hostEnviron() []string { return onceEach(os.Environ()) }

// namesPath reports whether a command is a path and so is not looked up in PATH.
func namesPath(command string) bool { return strings.ContainsAny(command, `:\/`) }

// joinPath is path as it is if it is absolute, and else path in dir, or at the root of dir's drive if path begins at
// a root without saying which. A path in the current directory of some drive, such as "c:x", stays as it is: a
// command has no such directories, and findExecutable finds nothing there.
func joinPath(dir, path string) string {
	switch {
	case filepath.VolumeName(path) != "":
		return path
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.VolumeName(dir) + path
	}
	return filepath.Join(dir, path)
}

// findExecutable returns the file that path names as it is, if it has an extension, or with one of the
// extensions of the environment's PATHEXT added.
func findExecutable(path string, env []string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fs.ErrNotExist
	}
	// Windows drops dots and spaces from the end of a name. So must everybody who goes by the name: "x.bat. "
	// is a batch file.
	path, err := syscall.FullPath(path)
	if err != nil || strings.HasPrefix(path, `\\.\`) { // no name for a file at all, or a device's
		return "", fs.ErrNotExist
	}
	var candidates []string
	if filepath.Ext(path) != "" {
		candidates = append(candidates, path)
	}
	for _, extension := range filepath.SplitList(cmp.Or(getenv(env, "PATHEXT"), ".com;.exe;.bat;.cmd")) {
		if extension != "" {
			candidates = append(candidates, path+"."+strings.TrimPrefix(extension, "."))
		}
	}
	for _, candidate := range candidates {
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
			return candidate, nil
		}
	}
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return "", syscall.EISDIR
		}
		return "", syscall.EACCES // there, but nothing that Windows would execute
	}
	return "", fs.ErrNotExist
}

// mayEnter: any directory can be a working directory for those that can see it.
func mayEnter(string) error { return nil }

// cmdLimit is how many UTF-16 units of a line cmd.exe takes.
const cmdLimit = 8191

// systemShell is how the system runs a line. The arguments are not escaped for cmd.exe here: it takes its
// line as it is (commandLine hands it over whole).
func systemShell(line string, _ []string) (path string, args []string, err error) {
	switch {
	case strings.ContainsAny(line, "\r\n"):
		return "", nil, invalidField("command", "must be one line: cmd.exe leaves out what comes after")
	case len(windows.StringToUTF16(line)) > cmdLimit-len(`cmd.exe /d /s /c ""`):
		return "", nil, invalidField("command", fmt.Sprintf("is longer than the %d characters that cmd.exe takes", cmdLimit))
	}
	path, err = cmdExe()
	return path, []string{"cmd.exe", "/d", "/s", "/c", line}, err
}

// cmdExe is the system's own shell. Where that is does not depend on any variable, which a request might set.
func cmdExe() (string, error) {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return "", &Error{Kind: ErrInternal, Reason: "the system's directory is not known", Err: err}
	}
	return filepath.Join(dir, "cmd.exe"), nil
}

// commandLine returns the program to start and the line to give it. The line is empty where it is to be made
// from the arguments by the rules that most programs take it apart by.
func commandLine(c Command) (program, line string, err error) {
	switch {
	case c.ShellLine != "":
		// cmd.exe takes what stands between the first and the last quote as it is (/s).
		return c.Path, `cmd.exe /d /s /c "` + c.ShellLine + `"`, nil
	case isBatch(c.Path):
		return batchLine(c)
	}
	return c.Path, "", nil
}

// isBatch reports whether a file is one that CreateProcess would hand to cmd.exe. The path is as findExecutable
// returns it.
func isBatch(path string) bool {
	extension := filepath.Ext(path)
	return strings.EqualFold(extension, ".bat") || strings.EqualFold(extension, ".cmd")
}

// batchLine has cmd.exe run a batch file. It reads the whole line as its own language, with rules that no
// quoting by the usual ones can satisfy (an argument "&calc starts a program); so this package says what the
// line is, quotes what quotes make harmless, and refuses what they do not.
func batchLine(c Command) (program, line string, err error) {
	if strings.Contains(c.Path, "%") {
		return "", "", invalidField("command", `a batch file's path must not contain "%"`)
	}
	words := []string{`"` + c.Path + `"`}
	for i, arg := range c.Args[1:] {
		if reason := unsafeInBatch(arg); reason != "" {
			return "", "", invalidField(fmt.Sprintf("args[%d]", i), "cannot be given to a batch file safely: "+reason)
		}
		words = append(words, quotedForBatch(arg))
	}
	// No AutoRun commands from the registry (/d); extensions on and delayed expansion off, whatever it says.
	line = fmt.Sprintf(`cmd.exe /d /e:on /v:off /s /c "%s"`, strings.Join(words, " "))
	if len(windows.StringToUTF16(line)) > cmdLimit {
		return "", "", invalidField("args", fmt.Sprintf("are longer than the %d characters that cmd.exe takes", cmdLimit))
	}
	program, err = cmdExe()
	return program, line, err
}

// unsafeInBatch says what is in an argument that cmd.exe gives a meaning to inside quotes too; empty if nothing.
// "%" names a variable, and "!" does in a batch file that asks for it. A quote ends the quotes, and so does the
// end of the line. A backslash before the closing quote would hide that from the programs which the batch file
// hands its arguments on to.
func unsafeInBatch(arg string) string {
	for _, r := range arg {
		switch {
		case r < ' ' && r != '\t':
			return "control character"
		case strings.ContainsRune(`"%!`, r):
			return fmt.Sprintf("%q", r)
		}
	}
	if strings.HasSuffix(arg, `\`) && quotedForBatch(arg) != arg {
		return `"\" at the end of what has to be quoted`
	}
	return ""
}

// quotedForBatch quotes an argument unless all of it is known to mean nothing to cmd.exe.
func quotedForBatch(arg string) string {
	const plain = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./\:+`
	if arg != "" && strings.Trim(arg, plain) == "" {
		return arg
	}
	return `"` + arg + `"`
}
