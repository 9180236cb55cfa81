package policy

import "github.com/acpterm/acpterm/internal/lookup"

// ErrProcLink is returned by [ResolveLinks] for a path through a symbolic link in /proc, which differs for each
// process.
var ErrProcLink = lookup.ErrProcLink

// ResolveLinks resolves the symbolic links in an absolute path as a Unix system does when it opens the file: ".." is
// the parent of the directory that the preceding names lead to, so the path must not be cleaned. The last name need not
// exist. Policies use ResolveLinks to decide about files that a command may read or create.
func ResolveLinks(path string) (string, error) { return lookup.Resolve(path) }
