// Package shell finds every program that a line of POSIX shell runs, so that a policy can decide about
// each of them before `/bin/sh -c` runs the line. It runs nothing itself.
//
// # What it promises
//
// If Parse returns no error, then every program that the line itself starts is in the result, whether
// it is in a list, a pipeline, a loop, a substitution, a here-document or an argument of a program of
// the table in prefixes.go (env, sudo, xargs, find -exec, sh -c ...). Whatever the package cannot
// analyse completely is an error, and the caller denies the line.
//
// Parse reads the line as dash and as bash. A line in which they would run different commands is
// refused (ErrNotPortable), and so is syntax that one of them lacks: [[ ]], (( )), arrays, process
// substitution, here-strings, &>, |&. Functions are refused too. An argument that they expand
// differently, such as {a,b} or $'a', is not Literal.
//
// # What the caller must do
//
//   - Apply its rules to every Command, including those that a prefix runs and the prefix itself:
//     `sudo rm x` is two commands and both must be allowed.
//   - Treat an argument whose Literal is false as any text. If One is false as well it may be no
//     argument, or many, so the positions of the arguments after it are unknown.
//   - Look at Env, Sets, Exports and Redirects: `GIT_PAGER=x git log` and `echo x > ~/.bashrc` run only git
//     and echo. An assignment or redirection without a command is a Command without a Name. The Env of
//     a command has the assignments in front of it. Other assignments of the line are in the Env of
//     Commands without a Name, and in the Sets and Exports of builtins.
//   - Refuse dangerous variables (PATH, ENV, BASH_ENV, BASH_FUNC_*, LD_PRELOAD, HOME ...) and locales other
//     than C and those in UTF-8 in the environment that the line is run with. Parse sees only the
//     variables that the line itself assigns.
//   - Resolve the file of a name: links, "..", /proc/self/cwd.
//   - Consider that builtins read files (read x < file), write them (echo x > file) and signal processes
//     (kill) without a program.
//   - Refuse login shells (Login), whose start-up files may set PATH.
//   - Consider that programs run others because of their arguments, files or variables: git, make, npm,
//     ssh, awk, tar, vim, python. Parse reports such a program and its arguments only.
//
// NewPolicy does all of this but the last.
//
// # What it relies on
//
//   - /bin/sh is dash, bash, busybox ash or FreeBSD's sh, not interactive, started with -c and without
//     ENV. Without interaction there is no history expansion, and as `alias` is refused there is no
//     alias that dash could expand.
//   - bash has its default options: no extglob, no lastpipe, no keyword (-k), no allexport (-a). Lines that
//     set them are refused.
//   - IFS is space, tab and newline: lines that assign it are refused.
//   - File systems may ignore case (macOS, Windows), so SUDO is handled as sudo.
package shell
