// Package lookup determines the program and the environment of a command: it merges variables, looks up the program in
// their PATH and relative to the command's directory, and builds the command line on Windows. It runs nothing. It
// imports the standard library and x/sys, and knows nothing about requests.
package lookup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// FieldError reports that the system cannot accept a part of a command: "command", "args" or "args[0]".
type FieldError struct{ Field, Reason string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// TerminalVariable is in every command's environment. It lists the ids of the terminals that a process runs in,
// separated by colons. There is more than one if a host was started in a terminal of another host. The variable
// identifies processes that left their command's session.
const TerminalVariable = "ACPTERM_TERMINAL"

// Mark returns an environment with an id added to the list in TerminalVariable.
func Mark(env []string, id string) []string {
	marked := make([]string, 0, len(env)+1)
	for _, variable := range env {
		if name, outer, _ := Cut(variable); Key(name) == TerminalVariable {
			if outer != "" {
				id = outer + ":" + id
			}
			continue
		}
		marked = append(marked, variable)
	}
	return append(marked, TerminalVariable+"="+id)
}

// Reason returns the text of the system's error number inside err, without the path that package os puts before it, or
// the whole text of err if it has none.
func Reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// Within reports whether a path is dir or below it. Both must be absolute and without symbolic links.
func Within(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// WithinAnywhere is Within for paths of the local system or of a Unix system.
func WithinAnywhere(file, dir string) bool {
	if !path.IsAbs(dir) {
		return Within(file, dir)
	}
	file, dir = path.Clean(file), path.Clean(dir)
	return file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}

// IsAbsAnywhere reports whether a path is absolute on the local system or on a Unix system.
func IsAbsAnywhere(name string) bool { return path.IsAbs(name) || filepath.IsAbs(name) }

// RealDir returns the absolute path of a directory with symbolic links resolved. Its error does not name the directory.
func RealDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", errors.New("must be an absolute path")
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", errors.New(Reason(err))
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return "", errors.New("not a directory")
	}
	return resolved, nil
}

// HostDir is a faster os.Getwd, which compares two directories to check whether PWD names the working directory.
// Usually comparing the names is enough.
func HostDir() (string, error) {
	if dir, err := syscall.Getwd(); err == nil && dir == os.Getenv("PWD") {
		return dir, nil
	}
	return os.Getwd()
}

// Names decides which variable names are equal: those with the same key. Key is this system's, Exact is case-sensitive.
type Names func(name string) (key string)

// Exact returns the name itself.
func Exact(name string) string { return name }

// Merge adds variables, "NAME=value", to a base environment that has each name once. The last value of a name wins. PWD
// becomes dir on Unix unless set contains it: programs trust PWD when it names their directory.
func Merge(names Names, base []string, dir string, set []string) []string {
	over := make([]string, 0, len(set)+1)
	if strings.HasPrefix(dir, "/") { // never true for a command on Windows
		over = append(over, "PWD="+dir)
	}
	over = Once(names, append(over, set...))
	at := make(map[string]int, len(over)) // by key
	for i, variable := range over {
		name, _, _ := Cut(variable)
		at[names(name)] = i
	}
	merged := make([]string, 0, len(base)+len(over))
	for _, variable := range base {
		name, _, ok := Cut(variable)
		if !ok {
			continue
		}
		if i, set := at[names(name)]; set {
			variable, over[i] = over[i], ""
		}
		merged = append(merged, variable)
	}
	return append(merged, slices.DeleteFunc(over, func(variable string) bool { return variable == "" })...)
}

// Once returns the variables of an environment, each name once, at its first position, with its last value.
func Once(names Names, env []string) []string {
	once := make([]string, 0, len(env))
	at := make(map[string]int, len(env)) // by key
	for _, variable := range env {
		name, _, ok := Cut(variable)
		if !ok {
			continue
		}
		key := names(name)
		if i, there := at[key]; there {
			once[i] = variable
			continue
		}
		at[key] = len(once)
		once = append(once, variable)
	}
	return once
}

// Cut splits "NAME=value". Windows has hidden variables whose names begin with "=".
func Cut(variable string) (name, value string, ok bool) {
	if variable == "" {
		return "", "", false
	}
	i := strings.IndexByte(variable[1:], '=') + 1
	if i == 0 {
		return "", "", false
	}
	return variable[:i], variable[i+1:], true
}

// Getenv returns a variable of an environment returned by Merge.
func Getenv(env []string, name string) string {
	for _, variable := range env {
		if n, value, _ := Cut(variable); Key(n) == Key(name) {
			return value
		}
	}
	return ""
}

// Program finds the file of a command: a path is relative to dir, and a plain name is looked up in the directories of
// the environment's PATH. It returns fs.ErrNotExist, or another error if a file exists but cannot be executed.
func Program(command, dir string, env []string) (string, error) {
	if NamesPath(command) {
		return Executable(joinPath(dir, command), env)
	}
	directories := filepath.SplitList(Getenv(env, "PATH"))
	if runtime.GOOS == "windows" { // where PATH often has empty entries, which no shell takes for a directory
		directories = slices.DeleteFunc(directories, func(d string) bool { return d == "" })
	}
	for i, d := range directories {
		directories[i] = joinPath(dir, d) // an entry of PATH may be relative, or empty
	}
	return search(directories, command, env)
}

// Interpreter finds the program of a host's shell: an absolute path is used unchanged, and a plain name is looked up in
// the absolute entries of PATH, so that a command's directory does not matter. It fails as Program does.
func Interpreter(name string, env []string) (string, error) {
	if NamesPath(name) {
		return Executable(name, interpreterExtensions)
	}
	directories := interpreterDirs(name, filepath.SplitList(Getenv(env, "PATH")))
	directories = slices.DeleteFunc(directories, func(d string) bool { return !filepath.IsAbs(d) })
	return search(directories, name, interpreterExtensions)
}

// search finds an executable file in directories. It skips those it cannot look into, as shells do.
func search(directories []string, name string, env []string) (string, error) {
	var denied error
	for _, d := range directories {
		path, err := Executable(joinPath(d, name), env)
		switch {
		case err == nil:
			return path, nil
		case path != "" && denied == nil:
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fs.ErrNotExist
}

// AbsolutePath removes relative entries from the PATH of a Unix system: they lead into the command's directory, which
// the agent chooses.
func AbsolutePath(env []string) []string {
	env = slices.Clone(env)
	for i, variable := range env {
		if list, ok := strings.CutPrefix(variable, "PATH="); ok {
			isRelative := func(entry string) bool { return !path.IsAbs(entry) }
			env[i] = "PATH=" + strings.Join(slices.DeleteFunc(strings.Split(list, ":"), isRelative), ":")
		}
	}
	return env
}

// FailedToExecute reports whether the system failed to execute the program: an error of syscall.ForkExec, as os/exec
// wraps it, or of syscall.StartProcess.
func FailedToExecute(err error) bool {
	if _, ok := err.(syscall.Errno); ok {
		return true
	}
	e, ok := err.(*os.PathError)
	return ok && e.Op == "fork/exec"
}
