// Package shell finds every program that a line of POSIX shell would run, so that a policy can decide whether to allow
// each of them before the line is passed to `/bin/sh -c`. The package does not run anything itself.
//
// # Guarantees
//
// If Parse succeeds, its result contains every program that the line itself starts, whether in a list, a pipeline, a
// loop, a substitution, a here-document or an argument of a program listed in prefixes.go (env, sudo, xargs, find
// -exec, sh -c ...). If the line cannot be analysed completely, Parse returns an error, and the caller must deny the
// line.
//
// Parse parses each line twice, once as dash and once as bash. If the two shells would run different commands, Parse
// returns ErrNotPortable. Parse also rejects functions, as well as any syntax that only one of the shells supports,
// such as [[ ]], (( )), arrays, process substitution, here-strings, &> and |&. If the shells expand an argument
// differently, as with {a,b} or $'a', the argument is not Literal.
//
// # Duties of the caller
//
// NewPolicy takes care of everything below except the last point. Programs that call Parse directly must:
//
//   - Apply their rules to every Command, including both prefixes and the commands they run. For example, `sudo rm x`
//     is two commands, and both must be allowed.
//   - Treat an argument whose Literal field is false as if it could be any text. If One is false as well, the argument
//     may expand to any number of arguments, including none, so the positions of later arguments are unknown.
//   - Check Env, Sets, Exports and Redirects, because git and echo are the only programs that `GIT_PAGER=x git log`
//     and `echo x > ~/.bashrc` run. A command's Env contains the assignments that precede it. Assignments and
//     redirections without a command are reported as a Command without a Name, and assignments made by a builtin are
//     reported in its Sets and Exports.
//   - Reject dangerous variables (PATH, ENV, BASH_ENV, BASH_FUNC_*, LD_PRELOAD, HOME ...) in the line's environment, as
//     well as any locale other than C or a UTF-8 locale. Parse only sees the variables that the line itself assigns.
//   - Resolve names to files, taking symbolic links, ".." and /proc/self/cwd into account.
//   - Keep in mind that builtins can read files (read x < file), write files (echo x > file) and send signals (kill).
//   - Reject login shells (see Command.Login), because their start-up files may set PATH.
//   - Beware of programs that run other programs depending on their arguments, files or variables, such as git, make,
//     npm, ssh, awk, tar, vim and python. Parse only reports the program itself and its arguments.
//
// # Assumptions
//
//   - /bin/sh is dash, bash, busybox ash or FreeBSD's sh, started with -c and without ENV. Since the shell is not
//     interactive, it does not expand history. Since `alias` is rejected, dash does not have any aliases to expand.
//   - bash uses its default options, so extglob, lastpipe, keyword (-k) and allexport (-a) are all disabled. Lines that
//     enable any of these options are rejected.
//   - IFS consists of space, tab and newline. Lines that assign to IFS are rejected.
//   - File systems may ignore case (macOS, Windows), so SUDO is treated like sudo.
package shell
