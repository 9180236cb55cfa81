// Package shell finds all programs that a line of POSIX shell would run, so that a policy can decide on each of them
// before the line is passed to `/bin/sh -c`. The package itself runs nothing.
//
// # Guarantees
//
// If Parse succeeds, its result contains every program that the line itself starts, whether in a list, a pipeline, a
// loop, a substitution, a here-document or an argument of a program listed in prefixes.go (env, sudo, xargs, find
// -exec, sh -c ...). If the line cannot be analysed completely, Parse returns an error, in which case the caller must
// deny the line.
//
// Parse reads each line twice, as dash and as bash, and returns ErrNotPortable if they would run different commands. It
// also rejects functions, and any syntax that one of the shells lacks, such as [[ ]], (( )), arrays, process
// substitution, here-strings, &> and |&. Arguments that the shells expand differently, such as {a,b} or $'a', are not
// Literal.
//
// # Duties of the caller
//
// NewPolicy takes care of everything below except the last point. Programs that call Parse directly must:
//
//   - Apply their rules to every Command, both prefixes and the commands they run: `sudo rm x` is two commands, and
//     both must be allowed.
//   - Treat an argument whose Literal is false as if it could be any text. If One is false as well, it may expand to
//     any number of arguments, including none, so the positions of later arguments are unknown.
//   - Check Env, Sets, Exports and Redirects, because `GIT_PAGER=x git log` and `echo x > ~/.bashrc` run only git and
//     echo. A command's Env contains the assignments in front of it. Assignments and redirections without a command are
//     reported as a Command without a Name, and assignments made by builtins in their Sets and Exports.
//   - Reject dangerous variables (PATH, ENV, BASH_ENV, BASH_FUNC_*, LD_PRELOAD, HOME ...) and locales other than C and
//     UTF-8 locales in the line's environment. Parse only sees the variables that the line itself assigns.
//   - Resolve names to files, taking symbolic links, ".." and /proc/self/cwd into account.
//   - Keep in mind that builtins can read files (read x < file), write them (echo x > file) and send signals (kill).
//   - Reject login shells (Login), because their start-up files may set PATH.
//   - Beware of programs that run others depending on their arguments, files or variables, such as git, make, npm, ssh,
//     awk, tar, vim and python. Parse reports only the program itself and its arguments.
//
// # Assumptions
//
//   - /bin/sh is dash, bash, busybox ash or FreeBSD's sh, started with -c and without ENV. Not being interactive, it
//     does not expand history. Since `alias` is rejected, dash has no aliases to expand.
//   - bash uses its default options: no extglob, no lastpipe, no keyword (-k) and no allexport (-a). Lines that set
//     them are rejected.
//   - IFS is space, tab and newline. Lines that assign it are rejected.
//   - File systems may ignore case (macOS, Windows), so SUDO is treated like sudo.
package shell
