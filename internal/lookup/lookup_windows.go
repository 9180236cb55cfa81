package lookup

// On Windows a program gets one line of text, and splits it as it likes.

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

// Key returns the key of a variable name. Names with the same key are the same variable: Windows ignores their case.
func Key(name string) string { return strings.ToUpper(name) }

// IsExecFormat reports whether the error means that a file is not a program that this user can run here.
func IsExecFormat(err error) bool {
	return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) || errors.Is(err, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH) ||
		errors.Is(err, windows.ERROR_ELEVATION_REQUIRED)
}

// WithSystemRoot adds SYSTEMROOT to an environment that lacks it. Without it, programs cannot even load the system's
// libraries. Package os/exec does the same.
func WithSystemRoot(env []string) []string {
	for _, variable := range env {
		if name, _, _ := Cut(variable); Key(name) == "SYSTEMROOT" {
			return env
		}
	}
	return append(slices.Clip(env), "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
}

// HostEnviron returns the environment of this process, with each name once.
func HostEnviron() []string { return Once(Key, os.Environ()) }

// NamesPath reports whether a command is a path, which is not looked up in PATH.
func NamesPath(command string) bool { return strings.ContainsAny(command, `:\/`) }

// joinPath returns path if it is absolute, and otherwise path in dir. If path begins at a root without a drive, it uses
// dir's drive. A path in the current directory of a drive, such as "c:x", stays unchanged: a command has no such
// directories, and Executable finds nothing there.
func joinPath(dir, path string) string {
	switch {
	case filepath.VolumeName(path) != "":
		return path
	case path != "" && os.IsPathSeparator(path[0]):
		return filepath.VolumeName(dir) + path
	}
	return filepath.Join(dir, path)
}

// Executable returns the file that path names: path itself if it has an extension, or with one of the extensions of the
// environment's PATHEXT added. For another file or a directory it returns path and an error.
func Executable(path string, env []string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fs.ErrNotExist
	}
	// Windows drops dots and spaces at the end of a name. Code that examines the name must do so too: "x.bat. " is a
	// batch file.
	path, err := syscall.FullPath(path)
	if err != nil || strings.HasPrefix(path, `\\.\`) { // not a file name at all, or a device's
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
		return path, syscall.EACCES // it exists, but Windows would not execute it
	}
	return "", fs.ErrNotExist
}

// MayEnter does nothing: any visible directory can be a working directory.
func MayEnter(string) error { return nil }

// cmdLimit is the maximum length of cmd.exe's command line, in UTF-16 units.
const cmdLimit = 8191

// Shell returns the system's command for running a line. Its error is a *FieldError or the system's.
func Shell(line string) (path string, args []string, err error) {
	if path, err = cmdExe(); err != nil {
		return "", nil, err
	}
	args = []string{"cmd.exe", "/d", "/s", "/c", line}
	return path, args, CheckLine(path, args)
}

// CheckLine returns a *FieldError if cmd.exe would not run the last argument, a line, unchanged.
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

// RefusedShell returns the reason why a host's shell cannot run lines, or "".
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

// isCmd reports whether a file is the system's shell, judging by its name.
func isCmd(path string) bool { return strings.EqualFold(filepath.Base(path), "cmd.exe") }

// cmdLine returns the command line that makes cmd.exe run its last argument. With /s, cmd.exe uses the text between the
// first and the last quote unchanged.
func cmdLine(args []string) string {
	var line strings.Builder
	for _, arg := range args[:len(args)-1] {
		line.WriteString(syscall.EscapeArg(arg) + " ")
	}
	return line.String() + `"` + args[len(args)-1] + `"`
}

// interpreterExtensions is the environment passed to Executable to find an interpreter. It excludes batch files, which
// would accept few of the lines.
var interpreterExtensions = []string{"PATHEXT=.exe"}

// interpreterDirs returns the directories of PATH to search for an interpreter. cmd is always the system's. A bash.exe
// in the system's directory, or among the aliases of store apps, is the launcher of WSL.
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

// cmdExe returns the path of the system's shell. It does not depend on any variable, which a request might set.
func cmdExe() (string, error) {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return "", fmt.Errorf("the system's directory is not known: %w", err)
	}
	return filepath.Join(dir, "cmd.exe"), nil
}

// CommandLine returns the program to start and its command line, for a program with its arguments. The last argument is
// a shell line, or shellLine is empty. The line is empty if it should be built from the arguments by the rules that
// most programs parse it with. PowerShell is told to write UTF-8. Its error is a *FieldError or the system's.
func CommandLine(path string, args []string, shellLine string) (program, line string, err error) {
	switch {
	case isCmd(path) && shellLine != "" && len(args) > 1 && args[len(args)-1] == shellLine:
		return path, cmdLine(args), nil
	case isBatch(path):
		return batchLine(path, args)
	}
	if is, ofWindows := isPowerShell(path); is {
		line = powerShellLine(args, ofWindows)
	}
	return path, line, nil
}

// isBatch reports whether CreateProcess would hand the file to cmd.exe. The path must come from Executable.
func isBatch(path string) bool {
	extension := filepath.Ext(path)
	return strings.EqualFold(extension, ".bat") || strings.EqualFold(extension, ".cmd")
}

// batchLine builds the line that makes cmd.exe run a batch file. cmd.exe parses the whole line in its own language, and
// the usual quoting cannot satisfy its rules (an argument "&calc starts a program). So this package builds the line
// itself, quotes everything that quotes make harmless, and refuses the rest.
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
	// /d ignores AutoRun commands from the registry; /e:on and /v:off override its settings for extensions and delayed
	// expansion.
	line = fmt.Sprintf(`cmd.exe /d /e:on /v:off /s /c "%s"`, strings.Join(words, " "))
	if len(windows.StringToUTF16(line)) > cmdLimit {
		reason := fmt.Sprintf("are longer than the %d characters that cmd.exe takes", cmdLimit)
		return "", "", &FieldError{"args", reason}
	}
	program, err = cmdExe()
	return program, line, err
}

// unsafeInBatch names the part of an argument that is special to cmd.exe even inside quotes, or returns "". "%" names a
// variable, also "!" in a batch file that enables it. A quote or a line end closes the quotes. A backslash
// before the closing quote would hide that quote from programs that get the batch file's arguments.
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

// quotedForBatch quotes an argument unless all of its characters are known to be harmless in cmd.exe.
func quotedForBatch(arg string) string {
	const plain = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./\:+`
	if arg != "" && strings.Trim(arg, plain) == "" {
		return arg
	}
	return `"` + arg + `"`
}
