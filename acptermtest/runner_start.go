package acptermtest

// The laws of a Runner before and during a start: the base, directories, programs, the environment, replaced files.

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
)

// Base names an existing directory, and each variable once.
func testBase(s *runnerTest) {
	if s.runner == nil {
		s.Skip("the local system has no Base")
	}
	dir, env, err := s.runner.Base(s.context())
	s.noError(err)
	seen := make(map[string]bool)
	for _, variable := range env {
		name, _, found := strings.Cut(variable, "=")
		if !found || name == "" || seen[name] {
			s.Errorf("Base: %q is not a variable, or not the first of its name", name)
		}
		seen[name] = true
	}
	s.path()
	if dir == "" {
		return
	}
	real, err := s.runner.RealDir(s.context(), dir)
	s.noError(err)
	equal(s, "pwd -P of a command without a directory", s.tool("pwd -P"), real)
}

// A command runs in its directory, whose symbolic links are resolved, and a wrong directory is ErrInvalidParams.
func testDirectories(s *runnerTest) {
	dir := s.tempDir()
	s.tool(`cd "$1" && mkdir "a b" && ln -s "a b" link && : >file`, dir)
	m := s.manager(acpterm.Options{})
	for name, want := range map[string]string{"a b": "a b", "link": "a b", "link/.": "a b"} {
		req := shellRequest("pwd -P")
		req.Cwd = dir + "/" + name
		term := s.finish(m, req)
		equal(s, "pwd -P in "+name, term.Output().Output, path.Join(dir, want)+"\n")
		if s.runner != nil {
			equal(s, "Command.Dir", term.Command().Dir, path.Join(dir, want))
			real, err := s.runner.RealDir(s.context(), req.Cwd)
			s.noError(err)
			equal(s, "RealDir of "+name, real, path.Join(dir, want))
		}
	}
	for _, wrong := range []string{dir + "/missing", dir + "/file", dir + "/file/below"} {
		req := shellRequest("pwd")
		req.Cwd = wrong
		_, err := m.Create(s.context(), req, nil)
		equal(s, "the error of a create in "+wrong, kindOf(err), acpterm.ErrInvalidParams)
		if s.runner != nil {
			_, err = s.runner.RealDir(s.context(), wrong)
			equal(s, "the error of RealDir of "+wrong, kindOf(err), acpterm.ErrInvalidParams)
		}
	}
}

// A program is looked up with the PATH and the directory that the command will have, and its links are resolved.
func testPrograms(s *runnerTest) {
	dir := s.tempDir()
	s.tool(`cd "$1" && mkdir bin lib work closed && for i in bin lib work; do
		echo "#!/bin/sh" >$i/tool; chmod 755 $i/tool; done; echo text >closed/tool; echo text >plain
		chmod 644 plain closed/tool; ln -s ../lib/tool bin/link; ln -s loop loop`, dir)
	for _, c := range []struct{ command, path, want string }{
		{"tool", dir + "/bin:" + dir + "/lib", "bin/tool"},
		{"tool", dir + "/lib:" + dir + "/bin", "lib/tool"},
		{"tool", dir + "/missing:" + dir + "/plain:" + dir + "/loop:" + dir + "/closed:" + dir + "/bin", "bin/tool"},
		{"link", dir + "/bin", "lib/tool"},
		{"tool", ".", "work/tool"},       // relative to the command's directory
		{"tool", "../lib", "lib/tool"},   // also relative to it
		{"tool", ":" + dir, "work/tool"}, // an empty entry is the directory
		{"./tool", "", "work/tool"},      // a path needs no PATH
		{"../bin/tool", "", "bin/tool"},  // also relative to it
		{dir + "/lib/tool", "", "lib/tool"},
		{"tool", "bin:lib:..", ""}, // not there
		{"tool", "", ""},
		{"other", dir + "/bin", ""},
		{"./other", dir + "/bin", ""},
		{"sh", dir + "/bin", ""}, // the machine has one
		{dir + "/missing", "", ""},
		{"acpterm-no-such-program", s.path(), ""},
	} {
		found, err := s.lookUp(c.command, c.path, dir+"/work")
		what := fmt.Sprintf("%s with the PATH %q", c.command, c.path)
		if c.want == "" {
			equal(s, "the error for "+what, kindOf(err), acpterm.ErrCommandNotFound)
			continue
		}
		s.noError(err)
		equal(s, what, found.Command.Path, dir+"/"+c.want)
		equal(s, "the name of "+what, found.Name, path.Base(c.command))
	}
	for _, command := range []string{dir + "/plain", dir} {
		_, err := s.lookUp(command, "", dir)
		equal(s, "the error for "+command, kindOf(err), acpterm.ErrNotExecutable)
	}
	_, err := s.lookUp("tool", dir+"/closed", dir)
	equal(s, "the error for a file that is not executable", kindOf(err), acpterm.ErrNotExecutable)
}

// lookUp returns the proposal that a policy sees for a command, or an earlier error. The command does not run.
func (s *runnerTest) lookUp(command, path, dir string) (found acpterm.Proposal, err error) {
	m := s.manager(acpterm.Options{
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			found = p
			return acpterm.Decision{Verdict: acpterm.VerdictDeny}
		}),
		Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellNever},
	})
	_, err = m.Create(s.context(), acpterm.CreateTerminalRequest{
		SessionID: "s", Command: command, Cwd: dir, Env: []acpterm.EnvVariable{{Name: "PATH", Value: path}},
	}, nil)
	if found.Command.Path != "" {
		err = nil
	}
	return found, err
}

// A command has exactly the variables of Command.Env.
func testEnvironment(s *runnerTest) {
	m := s.manager(acpterm.Options{Commands: acpterm.CommandOptions{
		Env:        []string{"PATH=" + s.path(), "OVERRIDDEN=1", "EMPTY="},
		Unattended: []string{},
	}})
	req := acpterm.CreateTerminalRequest{SessionID: "s", Command: "env", Env: []acpterm.EnvVariable{
		{Name: "OVERRIDDEN", Value: "2"}, {Name: "UTF8", Value: "é✓"},
		{Name: "SPACES", Value: "a  b=$c 'd' \"e\" \\"},
		{Name: "FIRST", Value: "line\nSECOND=line"},
	}}
	term := s.finish(m, req)
	want := strings.Split(strings.Join(term.Command().Env, "\n"), "\n")
	got := strings.Split(strings.TrimSuffix(term.Output().Output, "\n"), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.Errorf("the environment is %q, want %q", got, want)
	}
	args := []string{"", " ", "a  b", "$HOME", "*", "'", `"`, `\`, "é\xff", "line\nline", "-c"}
	term = s.create(m, `for arg; do printf '<%s>' "$arg"; done`, args...)
	s.exit(term)
	equal(s, "the arguments", s.raw(term), "<"+strings.Join(args, "><")+">")
}

// A command reads the end of its input, and has no controlling terminal.
func testInput(s *runnerTest) {
	equal(s, "the input", s.tool("cat; echo end"), "end")
	equal(s, "a controlling terminal", s.tool("(: </dev/tty) 2>/dev/null || echo none"), "none")
}

// A program or directory that was replaced after the decision does not run.
func testReplacedFiles(s *runnerTest) {
	dir := s.tempDir()
	prepare := `cd "$1" && rm -rf work other && mkdir work other &&
		printf '#!/bin/sh\necho good\n' >tool && chmod 755 tool`
	for what, replace := range map[string]string{
		"nothing":       `:`,
		"the program":   `cd "$1" && printf '#!/bin/sh\necho bad\n' >new && chmod 755 new && mv new tool`,
		"its text":      `cd "$1" && printf '#!/bin/sh\necho bad\n' >tool`,
		"the directory": `cd "$1" && mv work moved && mv other work && rm -rf moved`,
	} {
		s.tool(prepare, dir)
		m := s.manager(acpterm.Options{
			Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
				s.tool(replace, dir)
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			}),
		})
		req := acpterm.CreateTerminalRequest{SessionID: "s", Command: dir + "/tool", Cwd: dir + "/work"}
		term, err := m.Create(s.context(), req, nil)
		switch {
		case what == "nothing":
			s.noError(err)
			s.exit(term)
			equal(s, "the output", term.Output().Output, "good\n")
		case !s.gaps.Pins:
			equal(s, "the error after a change of "+what, kindOf(err), acpterm.ErrDenied)
		}
	}
	if s.gaps.Pins && s.runner != nil {
		found, err := s.runner.LookPath(s.context(), acpterm.Command{Args: []string{dir + "/tool"}, Dir: dir})
		s.noError(err)
		equal(s, "Found.Pin of a Runner without pins", found.Pin, "")
	}
}

// A create that is cancelled leaves no process behind, whenever that happens.
func testCancelledCreate(s *runnerTest) {
	m := s.asking(soon)
	seconds := s.sleeper()
	for i := range 50 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*100*time.Microsecond)
		term, err := m.Create(ctx, shellRequest("exec sleep $1", seconds), nil)
		cancel()
		if err == nil {
			s.noError(term.Kill(s.context()))
			continue
		}
		equal(s, "the error of a cancelled create", kindOf(err), acpterm.ErrCancelled)
	}
	if s.runner != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p, err := s.runner.Start(ctx, s.startRequest(&recorder{}, "exec sleep $1", seconds))
		if err == nil {
			s.Errorf("Start succeeds although its context is done")
			p.Signal(syscall.SIGKILL)
			s.gone(p)
		}
	}
	s.noneLeft("a cancelled create", seconds)
}
