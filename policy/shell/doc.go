// Package shell finds every program that a line of POSIX shell runs, so that a policy can decide about each of them
// before `/bin/sh -c` runs the line. It runs nothing itself.
//
// # Guarantees
//
// If Parse returns no error, the result contains every program that the line itself starts: in a list, a pipeline, a
// loop, a substitution, a here-document or an argument of a program in the table in prefixes.go (env, sudo, xargs, find
// -exec, sh -c ...). Parse fails if it cannot analyse the line completely, and the caller must deny the line.
//
// Parse reads the line as dash and as bash. It refuses a line if they would run different commands (ErrNotPortable),
// and any syntax missing in one of them: [[ ]], (( )), arrays, process substitution, here-strings, &>, |&. It also
// refuses functions. An argument that they expand differently, such as {a,b} or $'a', is not Literal.
//
// # Duties of the caller
//
//   - Apply its rules to every Command, including prefixes and the commands that they run: `sudo rm x` is two commands
//     and both must be allowed.
//   - Treat an argument whose Literal is false as any text. If One is also false, it may be no argument, or many, so
//     the positions of the following arguments are unknown.
//   - Check Env, Sets, Exports and Redirects: `GIT_PAGER=x git log` and `echo x > ~/.bashrc` run only git and echo. An
//     assignment or redirection without a command is a Command without a Name. The Env of a command contains the
//     assignments in front of it. Other assignments are in the Env of Commands without a Name, and in the Sets and
//     Exports of builtins.
//   - Refuse dangerous variables (PATH, ENV, BASH_ENV, BASH_FUNC_*, LD_PRELOAD, HOME ...) and locales other than C and
//     UTF-8 locales in the environment of the line. Parse sees only the variables that the line itself assigns.
//   - Resolve the file of a name: symbolic links, "..", /proc/self/cwd.
//   - Consider that builtins read files (read x < file), write them (echo x > file) and signal processes (kill) without
//     a program.
//   - Refuse login shells (Login), whose start-up files may set PATH.
//   - Consider that programs run others because of their arguments, files or variables: git, make, npm, ssh, awk, tar,
//     vim, python. Parse reports only such a program and its arguments.
//
// NewPolicy does all of this but the last.
//
// # Assumptions
//
//   - /bin/sh is dash, bash, busybox ash or FreeBSD's sh. It is not interactive, and is started with -c and without
//     ENV. A non-interactive shell has no history expansion. Since `alias` is refused, dash has no alias to expand.
//   - bash has its default options: no extglob, no lastpipe, no keyword (-k), no allexport (-a). Lines that set them
//     are refused.
//   - IFS is space, tab and newline. Lines that assign it are refused.
//   - File systems may ignore case (macOS, Windows), so SUDO is handled as sudo.
package shell
