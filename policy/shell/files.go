package shell

// The files of the names in a line, with symbolic links resolved.

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	acppolicy "github.com/acpterm/acpterm/policy"
)

// refusedRedirect returns the reason to deny a redirection, or "".
func (p policy) refusedRedirect(r redirect, c command, proposal acpterm.Proposal) string {
	path := r.Path.Text
	switch {
	case !r.Path.Literal:
		return "a file that is read or written has no plain name"
	case path == "/dev/null":
		return ""
	case strings.HasPrefix(path, "/dev/tcp/"), strings.HasPrefix(path, "/dev/udp/"):
		return "bash would make a connection"
	case strings.HasPrefix(r.Op, "<") && !p.options.ReadFiles:
		return fmt.Sprintf("the shell may not read files: %q", path)
	case r.Op != "<" && !p.options.WriteFiles:
		return fmt.Sprintf("the shell may not write files: %q", path)
	case proposal.Remote():
		return fmt.Sprintf("a Runner runs the line, and which file %q is there is not known here", path)
	case c.Moved && !filepath.IsAbs(path):
		return "after cd, a file that is read or written has no absolute name"
	}
	file, err := acppolicy.ResolveLinks(absolute(proposal.Command.Dir, path))
	if err != nil || !slices.ContainsFunc(proposal.Roots, func(root string) bool { return within(file, root) }) {
		return fmt.Sprintf("%q is outside of the directories that the shell may use files in", path)
	}
	return ""
}

// absolute returns a path relative to a directory. It does not clean the path, because links can precede "..".
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}

func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// leadsThroughProc reports whether the path of a program contains a link in /proc.
func leadsThroughProc(name string, p acpterm.Proposal) bool {
	directories := []string{p.Command.Dir}
	if !strings.Contains(name, "/") {
		directories = searchPath(p)
	}
	return slices.ContainsFunc(directories, func(dir string) bool {
		_, err := acppolicy.ResolveLinks(absolute(absolute(p.Command.Dir, dir), name))
		return errors.Is(err, acppolicy.ErrProcLink)
	})
}

// hasRelativePath reports whether the command's PATH has an entry relative to the directory.
func hasRelativePath(p acpterm.Proposal) bool {
	return slices.ContainsFunc(searchPath(p), func(dir string) bool { return !path.IsAbs(dir) && !filepath.IsAbs(dir) })
}

// searchPath returns the directories of the command's PATH.
func searchPath(p acpterm.Proposal) []string {
	for _, variable := range p.Command.Env {
		if value, found := strings.CutPrefix(variable, "PATH="); found {
			if p.Remote() {
				return strings.Split(value, ":")
			}
			return filepath.SplitList(value)
		}
	}
	return nil
}
