// Package shell finds every program that a line of POSIX shell would run, so that a policy can decide whether to allow
// each of them before the line is passed to `/bin/sh -c`. The package does not run anything itself.
//
// # Guarantees
//
// NewPolicy sees every program that the line itself starts, whether in a list, a pipeline, a loop, a substitution, a
// here-document or an argument of a program listed in prefixes.go (env, sudo, xargs, find -exec, sh -c ...). A line that
// cannot be analysed completely is denied.
//
// Each line is parsed twice, once as dash and once as bash, and denied if the two shells would run different commands.
// Functions are denied as well, as is any syntax that only one of the shells supports, such as [[ ]], (( )), arrays,
// process substitution, here-strings, &> and |&. An argument that depends on variables, output or files, or that the
// shells expand differently, as with {a,b} or $'a', is unknown (see acpterm.Proposal.ArgsUnknown).
//
// Beware of programs that run other programs depending on their arguments, files or variables, such as git, make, npm,
// ssh, awk, tar, vim and python. The rules only see the program itself and its arguments.
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
