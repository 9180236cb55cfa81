package lookup

// On Windows a program gets one line of text, and what it makes of the line is its own business.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

// Key is what makes two names of variables the same: Windows compares them without case.
func Key(name string) string { return strings.ToUpper(name) }

// IsExecFormat reports that a file is not a program of this system, or that this user may not run it.
func IsExecFormat(err error) bool {
	return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) || errors.Is(err, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH) ||
		errors.Is(err, windows.ERROR_ELEVATION_REQUIRED)
}

// WithSystemRoot adds SYSTEMROOT to an environment that lacks it; without it programs cannot load even the
// system's libraries. Package os/exec does the same.
func WithSystemRoot(env []string) []string {
	for _, variable := range env {
		if name, _, _ := Cut(variable); Key(name) == "SYSTEMROOT" {
			return env
		}
	}
	return append(slices.Clip(env), "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
}

// HostEnviron is this process's environment, each name once.
func HostEnviron() []string { return Once(Key, os.Environ()) }

// NamesPath reports whether a command is a path and so is not looked up in PATH.
func NamesPath(command string) bool { return strings.ContainsAny(command, `:\/`) }

// joinPath is path as it is if it is absolute, and else path in dir, or at the root of dir's drive if path begins at
// a root without saying which. A path in the current directory of some drive, such as "c:x", stays as it is: a
// command has no such directories, and Executable finds nothing there.
func joinPath(dir, path string) string {
	switch {
	case filepath.VolumeName(path) != "":
		return path
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.VolumeName(dir) + path
	}
	return filepath.Join(dir, path)
}

// Executable returns the file that path names as it is, if it has an extension, or with one of the extensions of the
// environment's PATHEXT added. For another file or a directory it returns path and an error.
func Executable(path string, env []string) (string, error) {
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
	for _, extension := range filepath.SplitList(cmp.Or(Getenv(env, "PATHEXT"), ".com;.exe;.bat;.cmd")) {
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
			return path, syscall.EISDIR
		}
		return path, syscall.EACCES // there, but nothing that Windows would execute
	}
	return "", fs.ErrNotExist
}

// MayEnter does nothing: any directory can be a working directory for those that can see it.
func MayEnter(string) error { return nil }

// cmdLimit is how many UTF-16 units of a line cmd.exe takes.
const cmdLimit = 8191

// Shell is how the system runs a line. Its error is a *FieldError, or the system's.
func Shell(line string) (path string, args []string, err error) {
	if path, err = cmdExe(); err != nil {
		return "", nil, err
	}
	args = []string{"cmd.exe", "/d", "/s", "/c", line}
	return path, args, CheckLine(path, args)
}

// CheckLine fails, with a *FieldError, for a line, the last argument, that cmd.exe would not run as it is.
func CheckLine(path string, args []string) error {
	line := args[len(args)-1]
	switch {
	case !isCmd(path):
	case strings.ContainsAny(line, "\r\n"):
		return &FieldError{"command", "must be one line: cmd.exe leaves out what comes after"}
	case len(windows.StringToUTF16(cmdLine(args))) > cmdLimit:
		reason := fmt.Sprintf("is longer than the %d characters that cmd.exe takes", cmdLimit)
		return &FieldError{"command", reason}
	}
	return nil
}

// RefusedShell returns why a host's shell cannot run lines, or "".
func RefusedShell(program string, args []string) string {
	if !isCmd(program) && !strings.EqualFold(program, "cmd") {
		return ""
	}
	is := func(option string) func(string) bool {
		return func(arg string) bool { return strings.EqualFold(arg, option) }
	}
	if n := len(args); !is("/c")(args[n-1]) || !slices.ContainsFunc(args[:n-1], is("/s")) {
		return `cmd.exe runs a line as it is only behind "/s" and, as the last of Args, "/c"`
	}
	return ""
}

// isCmd reports whether a file is the system's shell, by its name.
func isCmd(path string) bool { return strings.EqualFold(filepath.Base(path), "cmd.exe") }

// cmdLine is the command line for cmd.exe to run its last argument. It takes what stands between the first and the last
// quote as it is (/s).
func cmdLine(args []string) string {
	var line strings.Builder
	for _, arg := range args[:len(args)-1] {
		line.WriteString(syscall.EscapeArg(arg) + " ")
	}
	return line.String() + `"` + args[len(args)-1] + `"`
}

// interpreterExtensions is the environment for Executable to look for an interpreter with: a batch file would take few
// of the lines.
var interpreterExtensions = []string{"PATHEXT=.exe"}

// interpreterDirs are the directories to look for an interpreter in, of those in PATH. cmd is the system's own. A
// bash.exe in the system's directory, or among the aliases of store apps, is the launcher of WSL.
func interpreterDirs(name string, path []string) []string {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil
	}
	switch strings.TrimSuffix(strings.ToLower(name), ".exe") {
	case "cmd":
		return []string{system}
	case "bash":
		return slices.DeleteFunc(path, func(dir string) bool {
			dir = filepath.Clean(dir)
			return strings.EqualFold(dir, system) || strings.EqualFold(filepath.Base(dir), "Sysnative") ||
				strings.EqualFold(filepath.Base(dir), "WindowsApps")
		})
	}
	return path
}

// GitBash finds the bash.exe of the Git for Windows whose git.exe is in an environment's PATH: in Git\cmd, Git\bin or
// Git\mingw64\bin. It fails with fs.ErrNotExist.
func GitBash(env []string) (string, error) {
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if _, err := search([]string{dir}, "git", interpreterExtensions); err != nil {
			continue
		}
		for _, bin := range []string{`..\bin`, `..\..\bin`} {
			if bash, err := search([]string{filepath.Join(dir, bin)}, "bash", interpreterExtensions); err == nil {
				return bash, nil
			}
		}
	}
	return "", fs.ErrNotExist
}

// cmdExe is the system's own shell. Where that is does not depend on any variable, which a request might set.
func cmdExe() (string, error) {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return "", fmt.Errorf("the system's directory is not known: %w", err)
	}
	return filepath.Join(dir, "cmd.exe"), nil
}

// CommandLine returns the program to start and the line to give it, for a program with its arguments, of which the last
// is a shell line or that is empty. The line is empty where it is to be made from the arguments by the rules that most
// programs take it apart by. Its error is a *FieldError, or the system's.
func CommandLine(path string, args []string, shellLine string) (program, line string, err error) {
	switch {
	case isCmd(path) && shellLine != "" && len(args) > 1 && args[len(args)-1] == shellLine:
		return path, cmdLine(args), nil
	case isBatch(path):
		return batchLine(path, args)
	}
	return path, "", nil
}

// isBatch reports whether a file is one that CreateProcess would hand to cmd.exe. The path is as Executable
// returns it.
func isBatch(path string) bool {
	extension := filepath.Ext(path)
	return strings.EqualFold(extension, ".bat") || strings.EqualFold(extension, ".cmd")
}

// batchLine has cmd.exe run a batch file. It reads the whole line as its own language, with rules that no
// quoting by the usual ones can satisfy (an argument "&calc starts a program); so this package says what the
// line is, quotes what quotes make harmless, and refuses what they do not.
func batchLine(path string, args []string) (program, line string, err error) {
	if strings.Contains(path, "%") {
		return "", "", &FieldError{"command", `a batch file's path must not contain "%"`}
	}
	words := []string{`"` + path + `"`}
	for i, arg := range args[1:] {
		if reason := unsafeInBatch(arg); reason != "" {
			return "", "", &FieldError{fmt.Sprintf("args[%d]", i), "cannot be given to a batch file safely: " + reason}
		}
		words = append(words, quotedForBatch(arg))
	}
	// No AutoRun commands from the registry (/d); extensions on and delayed expansion off, whatever it says.
	line = fmt.Sprintf(`cmd.exe /d /e:on /v:off /s /c "%s"`, strings.Join(words, " "))
	if len(windows.StringToUTF16(line)) > cmdLimit {
		reason := fmt.Sprintf("are longer than the %d characters that cmd.exe takes", cmdLimit)
		return "", "", &FieldError{"args", reason}
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
