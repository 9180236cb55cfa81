// Package shell finds every program run by a line of POSIX shell, so that a policy can decide about each of them before
// `/bin/sh -c` runs the line. It runs nothing itself.
//
// # Guarantees
//
// If Parse returns no error, its result contains every program started by the line itself, whether in a list, a
// pipeline, a loop, a substitution, a here-document or an argument of a program listed in prefixes.go (env, sudo,
// xargs, find -exec, sh -c ...). If Parse cannot analyse the line completely, it returns an error, and the caller must
// deny the line.
//
// Parse reads the line both as dash and as bash. If they would run different commands, it returns ErrNotPortable. It
// also rejects functions and any syntax missing in one of the shells, such as [[ ]], (( )), arrays, process
// substitution, here-strings, &> and |&. An argument expanded differently, such as {a,b} or $'a', is not Literal.
//
// # Duties of the caller
//
// NewPolicy does all of the following except the last. Callers of Parse must:
//
//   - Apply their rules to every Command, including prefixes and the commands they run: `sudo rm x` is two commands,
//     and both must be allowed.
//   - Treat an argument whose Literal is false as if it could be any text. If One is also false, it may stand for no
//     argument or many, so the positions of later arguments are unknown.
//   - Check Env, Sets, Exports and Redirects: `GIT_PAGER=x git log` and `echo x > ~/.bashrc` run only git and echo. An
//     assignment or redirection without a command is reported as a Command without a Name. A command's Env contains the
//     assignments in front of it. Other assignments are in the Env of Commands without a Name, and in the Sets and
//     Exports of builtins.
//   - Reject dangerous variables (PATH, ENV, BASH_ENV, BASH_FUNC_*, LD_PRELOAD, HOME ...) and locales other than C and
//     UTF-8 locales in the line's environment. Parse sees only variables assigned by the line itself.
//   - Resolve names to files, considering symbolic links, "..", and /proc/self/cwd.
//   - Consider that builtins can read files (read x < file), write them (echo x > file) and send signals (kill).
//   - Reject login shells (Login), because their start-up files may set PATH.
//   - Consider programs that run others because of their arguments, files or variables: git, make, npm, ssh, awk, tar,
//     vim, python. Parse reports only the program itself and its arguments.
//
// # Assumptions
//
//   - /bin/sh is dash, bash, busybox ash or FreeBSD's sh, started with -c and without ENV. It is not interactive and
//     therefore has no history expansion. Since `alias` is rejected, dash has no aliases to expand.
//   - bash has its default options: no extglob, no lastpipe, no keyword (-k) and no allexport (-a). Lines that set them
//     are rejected.
//   - IFS is space, tab and newline. Lines that assign it are rejected.
//   - File systems may ignore case (macOS, Windows), so SUDO is treated like sudo.
package shell
