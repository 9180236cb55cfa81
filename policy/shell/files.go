package shell

// The files of the names in a line, resolved through links.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// refusedRedirect returns the reason to deny a redirection, or "".
func (p policy) refusedRedirect(r Redirect, c Command, proposal acpterm.Proposal) string {
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
	file, err := resolve(absolute(proposal.Command.Dir, path))
	if err != nil || !slices.ContainsFunc(proposal.Roots, func(root string) bool { return within(file, root) }) {
		return fmt.Sprintf("%q is outside of the directories that the shell may use files in", path)
	}
	return ""
}

// absolute returns a path relative to a directory. It is not cleaned, since links can precede "..".
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

// maxLinks is the number of links in a path, as in Linux.
const maxLinks = 40

var (
	errProcLink     = errors.New("a link in /proc")
	errTooManyLinks = errors.New("too many links")
)

// resolve follows the links in an absolute path as the system does when it opens the file: ".." is the parent of the
// directory that the names before it lead to. The last name need not exist. A link in /proc is errProcLink, since it
// differs for each process.
func resolve(path string) (string, error) {
	real, links := "/", 0
	names := strings.Split(path, "/")
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(names) == 0:
			return next, nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			real = next
			continue
		case within(next, "/proc"):
			return "", errProcLink
		}
		if links++; links > maxLinks {
			return "", errTooManyLinks
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(target, "/") {
			real = "/"
		}
		names = append(strings.Split(target, "/"), names...)
	}
	return real, nil
}

// leadsThroughProc reports whether a link in /proc is in the path of a program.
func leadsThroughProc(name string, p acpterm.Proposal) bool {
	directories := []string{p.Command.Dir}
	if !strings.Contains(name, "/") {
		directories = searchPath(p)
	}
	return slices.ContainsFunc(directories, func(dir string) bool {
		_, err := resolve(absolute(absolute(p.Command.Dir, dir), name))
		return errors.Is(err, errProcLink)
	})
}

// hasRelativePath reports whether the command's PATH has an entry that depends on the directory.
func hasRelativePath(p acpterm.Proposal) bool {
	return slices.ContainsFunc(searchPath(p), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// searchPath returns the directories of the command's PATH.
func searchPath(p acpterm.Proposal) []string {
	for _, variable := range p.Command.Env {
		if value, found := strings.CutPrefix(variable, "PATH="); found {
			return filepath.SplitList(value)
		}
	}
	return nil
}
