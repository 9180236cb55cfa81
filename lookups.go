package acpterm

// How the names in a request become a command: on this system, or where a Runner runs it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
)

// lookups looks names up. The zero value does on this system.
type lookups struct{ runner Runner }

// located is a command, and what its lookup found besides.
type located struct {
	Command
	name string   // of the program, before links were followed
	pin  string   // Found.Pin
	env  []string // that commands inherit; nil: this process's
}

// base is what a Runner's commands have by default; of this system the zero Base.
func (l lookups) base(ctx context.Context) (base Base, err error) {
	if l.runner == nil {
		return Base{}, nil
	}
	panicked := callHook("Runner's Base", func() { base, err = l.runner.Base(ctx) })
	if err = cmp.Or(panicked, err); err != nil {
		return Base{}, l.failed(ctx, "cannot be reached", err)
	}
	base.Env = lookup.Once(l.names(), base.Env)
	return base, nil
}

// names says which names of variables are the same: a Runner's system may tell capitals apart where this one does not.
func (l lookups) names() lookup.Names {
	if l.runner == nil {
		return lookup.Key
	}
	return lookup.Exact
}

// copyEnv is an environment with each name once; nil stays nil.
func (l lookups) copyEnv(env []string) []string {
	if env == nil {
		return nil
	}
	return lookup.Once(l.names(), env)
}

// mergeEnv is lookup.Merge for variables of the embedder's and then those of a request.
func (l lookups) mergeEnv(base []string, dir string, over []string, set []EnvVariable) []string {
	all := slices.Grow(slices.Clone(over), len(set))
	for _, v := range set {
		all = append(all, v.Name+"="+v.Value)
	}
	return lookup.Merge(l.names(), base, dir, all)
}

// failed is an error of the Runner's that is about no command.
func (l lookups) failed(ctx context.Context, reason string, err error) error {
	e := *runnerError(ctx, Command{Args: []string{""}}, "the Runner "+reason, err)
	return &e
}

// dir returns the directory that a command will run in: what the request asks for, else the fallback, else the host's
// own, or with a Runner none. A Runner's is checked by program.
func (l lookups) dir(cwd, fallback string) (string, error) {
	if l.runner == nil {
		return resolveDir(cwd, fallback)
	}
	cwd = cmp.Or(cwd, fallback)
	switch { // what is absolute there need not be so here
	case cwd == "":
		return "", nil
	case path.IsAbs(cwd):
		return cwd, nil // ".." stays: behind a link it is the parent of what the link leads to
	case filepath.IsAbs(cwd):
		return filepath.Clean(cwd), nil
	}
	return "", invalidField("cwd", "must be an absolute path")
}

// program finds the file of a command's program. A Runner also follows the links in the command's directory.
func (l lookups) program(ctx context.Context, c Command) (located, error) {
	if l.runner == nil {
		var err error
		c.Path, err = lookProgram(c.Args[0], c.Dir, c.Env)
		return located{Command: c, name: filepath.Base(c.Path)}, err
	}
	return l.programElsewhere(ctx, c, c.Env)
}

// programElsewhere is program by the Runner, with the PATH of an environment.
func (l lookups) programElsewhere(ctx context.Context, c Command, env []string) (located, error) {
	asked := c
	asked.Env = env
	var found Found
	var err error
	panicked := callHook("Runner's LookPath", func() { found, err = l.runner.LookPath(ctx, asked) })
	if err = cmp.Or(panicked, err); err != nil || found.Path == "" {
		return located{}, runnerError(ctx, c, "cannot be looked up", err)
	}
	c.Path = found.Path
	if found.Dir != "" && found.Dir != c.Dir {
		if lookup.Getenv(c.Env, "PWD") == c.Dir {
			c.Env = l.mergeEnv(c.Env, found.Dir, nil, nil)
		}
		c.Dir = found.Dir
	}
	return located{Command: c, name: cmp.Or(found.Name, path.Base(found.Path)), pin: found.Pin}, nil
}

// shell makes c run a line by a shell, which is looked up with the environment that commands inherit.
func (l lookups) shell(ctx context.Context, c Command, line string, s Shell, inherited []string) (located, error) {
	c.ShellLine = line
	var err error
	switch {
	case l.runner != nil:
		return l.shellElsewhere(ctx, c, s, inherited)
	case s.Program == "":
		c.Path, c.Args, err = lookup.Shell(line)
	default:
		c.Args = slices.Concat([]string{s.Program}, s.Args, []string{line})
		if c.Path, err = lookup.Interpreter(s.Program, inherited); err != nil {
			return located{}, s.cannotRun(err)
		}
		err = lookup.CheckLine(c.Path, c.Args)
	}
	if err != nil {
		return located{}, lookupError(err)
	}
	return located{Command: c, name: filepath.Base(c.Path)}, nil
}

// shellElsewhere is shell by the Runner.
func (l lookups) shellElsewhere(ctx context.Context, c Command, s Shell, inherited []string) (located, error) {
	if s.Program == "" {
		s = Shell{Program: "sh", Args: []string{"-c"}}
	}
	c.Args = slices.Concat([]string{s.Program}, s.Args, []string{c.ShellLine})
	found, err := l.programElsewhere(ctx, c, absolutePath(inherited))
	if errors.Is(err, ErrCommandNotFound) || errors.Is(err, ErrNotExecutable) {
		return located{}, s.cannotRun(err)
	}
	return found, err
}

// absolutePath is an environment whose PATH, of a Runner's, has absolute entries only: others lead into the command's
// directory, which the agent chooses.
func absolutePath(env []string) []string {
	env = slices.Clone(env)
	for i, variable := range env {
		if list, ok := strings.CutPrefix(variable, "PATH="); ok {
			isRelative := func(entry string) bool { return !path.IsAbs(entry) }
			env[i] = "PATH=" + strings.Join(slices.DeleteFunc(strings.Split(list, ":"), isRelative), ":")
		}
	}
	return env
}

// file is program with the links in the program's path followed.
func (l lookups) file(ctx context.Context, c Command) (located, error) {
	found, err := l.program(ctx, c)
	if err != nil || l.runner != nil {
		return found, err
	}
	if found.Path, err = filepath.EvalSymlinks(found.Path); err != nil {
		return located{}, &Error{Kind: ErrCommandNotFound, Command: c.Args[0], Err: err}
	}
	return found, nil
}

// roots are a session's Roots without links.
func (l lookups) roots(ctx context.Context, roots []string) (resolved []string, err error) {
	resolved = slices.Clone(roots)
	for i, root := range roots {
		if resolved[i], err = l.root(ctx, fmt.Sprintf("SessionOptions.Roots[%d]", i), root); err != nil {
			return nil, err
		}
	}
	return resolved, nil
}

// root is a directory without links, the value of an option or a parameter of the host's.
func (l lookups) root(ctx context.Context, field, dir string) (string, error) {
	resolved, err := l.realDir(ctx, dir)
	if _, failed := err.(*Error); err != nil && !failed {
		err = optionError(field, lookup.Reason(err))
	}
	return resolved, err
}

// realDir is a directory without links. Its error is an *Error only where a Runner fails.
func (l lookups) realDir(ctx context.Context, dir string) (resolved string, err error) {
	switch {
	case l.runner == nil:
		return lookup.RealDir(dir)
	case !path.IsAbs(dir) && !filepath.IsAbs(dir):
		return "", errors.New("must be an absolute path")
	}
	panicked := callHook("Runner's RealDir", func() { resolved, err = l.runner.RealDir(ctx, dir) })
	if err = cmp.Or(panicked, err); err != nil || resolved == "" {
		e := l.failed(ctx, "cannot resolve a directory", err).(*Error)
		if e.Kind == ErrInvalidParams {
			return "", errors.New(e.Reason)
		}
		return "", e
	}
	return resolved, nil
}

// within reports whether a path is a directory or below it. Neither has links.
func (l lookups) within(file, dir string) bool {
	if l.runner == nil || !path.IsAbs(dir) {
		return lookup.Within(file, dir)
	}
	file, dir = path.Clean(file), path.Clean(dir)
	return file == dir || strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}
