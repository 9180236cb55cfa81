// Package shell finds every program that a line of POSIX shell runs, so that a policy can decide about
// each of them before the line is handed to `/bin/sh -c`. It never runs anything.
//
// # What it promises
//
// If Parse returns no error, then every program that the line itself starts is in the result, whether
// it stands in a list, a pipeline, a loop, a substitution, a here-document or behind another program
// of the table in prefixes.go (env, sudo, xargs, find -exec, sh -c ...). What the package cannot see
// completely is an error, never a guess: the caller denies a line for which Parse returns one.
//
// The line is read as the dash shell reads it and again as bash does. A line that the two understand
// differently is refused (ErrNotPortable), and so is one that only one of them knows: [[ ]], (( )),
// arrays, process substitution, here-strings, &>, |&, functions. An argument that they expand
// differently, such as {a,b} or $'a', is one that is not Literal.
//
// # What the caller must do
//
//   - Put every Command before its rules, those that were reached through a prefix included, and the
//     prefix itself: `sudo rm x` is two commands and both must be allowed.
//   - Treat an argument whose Literal is false as one that may be anything. If One is false as well it
//     may also be no argument at all, or many: the arguments after it then have no known place.
//   - Look at Env, Sets, Exports and Redirects: `GIT_PAGER=x git log` and `echo x > ~/.bashrc` run only git
//     and echo. A piece of the line that assigns or redirects without a command is a Command without a
//     Name. The Env of a command holds what stands in front of it, not what the line sets elsewhere:
//     that is in the Env of a Command without a Name, and in the Sets and Exports of builtins.
//   - Refuse dangerous variables (PATH, ENV, BASH_ENV, BASH_FUNC_*, LD_PRELOAD, HOME ...) and locales other
//     than C and those in UTF-8 in the environment that the line is run with. Parse sees only the
//     variables that the line itself assigns.
//   - Know which file a name leads to: through links, "..", /proc/self/cwd.
//   - Know that a builtin needs no program to read a file (read x < file), to write one (echo x > file), and
//     to signal a process (kill).
//   - Refuse login shells (Login), whose start-up files may set PATH.
//   - Know that a program can run others by its own arguments, files or variables: git, make, npm, ssh,
//     awk, tar, vim, python. Parse reports such a program and its arguments and looks no further.
//
// Policy does all of this but the last.
//
// # What it relies on
//
//   - /bin/sh is dash, bash, busybox ash or FreeBSD's sh, not interactive, started with -c and without
//     ENV. Without interaction there is no history expansion, and as `alias` is refused there is no
//     alias that dash could expand.
//   - bash has its default options: no extglob, no lastpipe, no keyword (-k), no allexport (-a). Lines that
//     set them are refused.
//   - IFS is space, tab and newline: lines that assign it are refused.
//   - Names on disk may ignore case (macOS, Windows): SUDO is looked through as sudo is.
package shell
