package policy

// Policies for the environment variables that an agent sets for a command.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
)

// SafeVariables returns a list for use with AllowVariables. The variables in the list can change the language and the
// output format of a program, but not which files the program runs, loads, reads or writes. If only some values of a
// variable are safe, such as cat for PAGER, only those values are listed. Hosts typically append other variables that
// their agents need:
//
//	policy.AllowVariables(append(policy.SafeVariables(), "MY_PROJECT_*")...)
func SafeVariables() []string {
	return []string{
		"CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "LINES",
		"TERM=dumb", "TERM=unknown", "TERM=ansi", "TERM=linux", "TERM=vt100", "TERM=xterm*", "TERM=screen*",
		"TERM=tmux*",
		"LANG=C", "LANG=POSIX", "LANG=C.UTF-8", "LANG=C.utf8", "LANG=??_??.UTF-8",
		"LC_*=C", "LC_*=POSIX", "LC_*=C.UTF-8", "LC_*=C.utf8", "LC_*=??_??.UTF-8",
		"TZ=UTC", "TZ=UTC0", "TZ=GMT", "TZ=Etc/UTC",
		"PAGER=", "PAGER=cat", "MANPAGER=cat", "GIT_PAGER=", "GIT_PAGER=cat", "GH_PAGER=", "GH_PAGER=cat",
		"SYSTEMD_PAGER=", "SYSTEMD_PAGER=cat",
		"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_EDITOR=:", "GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"DEBIAN_FRONTEND=noninteractive", "NODE_ENV=test", "NODE_ENV=development", "NODE_ENV=production",
		"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8", "RUST_BACKTRACE",
	}
}

// DangerousVariables returns a list for use with DenyVariables. The variables in the list are read by operating
// systems, shells, languages and popular tools, and can cause programs to run, load, read or write something else. Note
// that some of the patterns also match harmless names. Since no such list can be complete, use AllowVariables instead
// if you know which variables your agents need.
func DangerousVariables() []string {
	return []string{
		// Families.
		"*PATH", "*_PATH_*", "*PRELOAD*", "*FLAGS", "*_FLAGS_*", "*_OPTIONS", "*OPTS", "*OPT", "*_ARGS", "*_PROXY",
		"*_CONFIG", "*_CONFIG_*", "*CONFIGDIR", "*_HOME", "*_ROOT", "*EDITOR", "VISUAL", "*PAGER", "*BROWSER",
		"*SHELL", "*ASKPASS", "*_COMMAND", "*_WRAPPER", "*_LAUNCHER", "*_PLUGIN*", "*_STARTUP", "*_INIT", "*_RSH",
		"*_SSH", "*_REGISTRY", "*_INDEX_URL", "*CA_BUNDLE", "*_CA_CERTS", "*_CERT_FILE", "*_CERT_DIR",

		// The loader, the C library, and the libraries that programs link to.
		"LD_*", "DYLD_*", "GLIBC_TUNABLES", "MALLOC_*", "LIBC_*", "LANGUAGE", "TEXTDOMAIN*", "TZDIR", "GETCONF_DIR",
		"HOSTALIASES", "LOCALDOMAIN", "RESOLV_*", "GMON_OUT_PREFIX", "GCOV_*", "LLVM_*", "*SAN_OPTIONS", "OPENSSL_*",
		"SSL_*", "SSLKEYLOGFILE", "GNUTLS_*", "NSS_*", "KRB5*", "SASL_*", "LDAP*", "P11_*", "TERMINFO*", "TERMCAP",
		"GTK_*", "GDK_*", "GIO_*", "GST_*", "QT_*", "QML*", "XDG_*", "XLOCALEDIR", "XAUTHORITY", "DBUS_*", "VK_*",
		"LIBGL_*", "MESA_*", "__EGL_*", "CUDA_*", "OCL_*", "OPENCL_*", "MAGICK_*", "GS_*",

		// Locations of a user's files.
		"HOME", "HOMEDRIVE", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "TMP", "TEMP", "TMPDIR",
		"TEMPDIR",

		// Shells.
		"PATHEXT", "COMSPEC", "ENV", "BASH*", "KSH_*", "ZDOTDIR", "ZSH*", "IFS", "PS?", "FCEDIT", "HIST*", "INPUTRC",
		"GLOBIGNORE", "EXECIGNORE", "POSIXLY_CORRECT", "FZF_*", "PROMPT*", "ARGV0", "STTY", "NULLCMD", "READNULLCMD",
		"FISH_*", "__FISH*", "PSMODULE*", "PSEXECUTIONPOLICY*", "__PS*", "POWERSHELL_*", "WSLENV", "MSYS*", "CYGWIN*",
		"CHERE_INVOKING",

		// Tools.
		"GIT_*", "GITHUB_*", "GH_*", "HG*", "SVN_*", "CVS*", "SSH_*", "SUDO_*", "GNUPG*", "GPG_*", "RSYNC_*",
		"CURL_*", "WGET*", "*WGETRC", "TAR_*", "TAPE", "ZIP*", "UNZIP*", "GZIP", "BZIP*", "XZ_*", "ZSTD_*", "RAR",
		"RSH", "LESS*", "MORE", "GROFF_*", "TROFF*", "VIM*", "NVIM*", "EXINIT", "EMACS*", "SYSTEMD_*",
		"NOTIFY_SOCKET", "RIPGREP_*", "ACK*", "BAT_*", "DELTA_*", "TEX*", "BIBINPUTS", "BSTINPUTS", "PG*", "PSQL*",
		"MYSQL*", "LIBMYSQL_*", "SQLITE_*", "REDISCLI_*", "DOCKER_*", "COMPOSE_*", "BUILDKIT_*", "BUILDX_*",
		"CONTAINER*", "PODMAN_*", "KUBE*", "HELM_*", "TF_*", "VAGRANT_*", "PACKER_*", "ANSIBLE_*", "AWS_*", "AZURE_*",
		"GOOGLE_*", "CLOUDSDK_*", "VAULT_*",

		// Compilers and build tools.
		"CC", "CXX", "CPP", "LD", "AR", "AS", "FC", "NM", "RANLIB", "STRIP", "OBJCOPY", "LEX", "YACC", "RM", "MAKE*",
		"GNUMAKE*", "GCC_*", "CCC_*", "CCACHE_*", "DISTCC_*", "SCCACHE_*", "CMAKE_*", "CTEST_*", "NINJA_*", "MESON*",
		"PKG_CONFIG*", "CONFIG_SITE", "ACLOCAL*", "AUTOCONF", "AUTOHEADER", "AUTOM4TE", "AUTOMAKE", "M4*", "LIBTOOL*",
		"BAZEL*", "DEVELOPER_DIR", "SDKROOT",

		// Languages.
		"PYTHON*", "PIP_*", "PIPX_*", "PIPENV_*", "POETRY_*", "UV_*", "VIRTUAL_ENV", "CONDA*", "PYENV*", "PYTEST_*",
		"TOX_*", "NODE_*", "NPM_*", "YARN_*", "PNPM_*", "COREPACK_*", "NVM_*", "VOLTA_*", "TS_NODE_*", "DENO_*",
		"BUN_*", "ELECTRON_*", "BABEL_*", "ESLINT_*", "PERL*", "RUBY*", "GEM_*", "BUNDLE*", "RAKE*", "RBENV_*",
		"PHP*", "COMPOSER*", "LUA*", "TCL*", "R_*", "JULIA_*", "GUILE_*", "JAVA*", "_JAVA*", "JDK_*", "JRE_*",
		"MAVEN_*", "M2_*", "MVN*", "GRADLE_*", "ANT_*", "SBT_*", "KOTLIN_*", "SCALA_*", "GROOVY_*", "DOTNET*",
		"CORECLR_*", "COMPLUS_*", "NUGET_*", "MSBUILD*", "GO*", "GCCGO", "CGO_*", "CARGO*", "RUSTC*", "RUSTDOC*",
		"RUSTUP_*", "GHC*", "CABAL_*", "STACK_*", "OCAML*", "CAML*", "OPAM*", "ERL_*", "ELIXIR_*", "MIX_*", "HEX_*",
		"NIX_*", "SWIFT_*",
	}
}

// AllowVariables returns a policy that denies a command if the agent sets a variable that does not match any element of
// the list. An element is either a name, which allows any value, or has the form "NAME=value". In either form, "*"
// matches any text and "?" matches any single character. Names are case-insensitive on Windows. If the list is empty,
// the agent may not set any variables. If a value is not known in advance (see Proposal.ValuesUnknown), it is only
// allowed by an element without a value. Inherited variables are not checked.
func AllowVariables(names ...string) acpterm.Policy {
	allowed := variablePatterns(names, lookup.Key)
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		for _, v := range p.Requested.Env {
			name, known := lookup.Key(v.Name), !slices.Contains(p.ValuesUnknown, v.Name)
			problem := "must not be set"
			if !slices.ContainsFunc(allowed, func(a variablePattern) bool {
				if !a.name.matches(name) {
					return false
				}
				problem = "must not have this value"
				return a.anyValue || known && a.value.matches(v.Value)
			}) {
				return refuseVariable("allow-variables", v, problem)
			}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "allow-variables"}
	})
}

// DenyVariables returns a policy that denies a command if the agent sets any of the listed variables. Elements have the
// form described in AllowVariables, except that names are never case-sensitive, since some programs ignore case in
// names. If a value is unknown, it is assumed to match. If possible, use AllowVariables instead, since it also denies
// variables that do not appear in the list.
func DenyVariables(names ...string) acpterm.Policy {
	denied := variablePatterns(names, strings.ToUpper)
	return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		for _, v := range p.Requested.Env {
			name, known := strings.ToUpper(v.Name), !slices.Contains(p.ValuesUnknown, v.Name)
			if slices.ContainsFunc(denied, func(d variablePattern) bool {
				return d.name.matches(name) && (d.anyValue || !known || d.value.matches(v.Value))
			}) {
				return refuseVariable("deny-variables", v, "must not be set")
			}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "deny-variables"}
	})
}

// refuseVariable returns a denial. Its reason does not contain the value, which may be secret.
func refuseVariable(rule string, v acpterm.EnvVariable, problem string) acpterm.Decision {
	reason := fmt.Sprintf("the variable %q %s", v.Name, problem)
	return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: rule, Reason: reason}
}

// InheritVariables returns the variables in environ (for example, os.Environ()) that are listed in names. The elements
// of names have the form described in AllowVariables. The result is intended for use as acpterm.CommandOptions.Env. It
// is never nil, because a nil Env would select the host's entire environment.
func InheritVariables(environ []string, names ...string) []string {
	patterns := variablePatterns(names, lookup.Key)
	inherited := []string{}
	for _, variable := range environ {
		name, value, _ := lookup.Cut(variable)
		if slices.ContainsFunc(patterns, func(v variablePattern) bool {
			return v.name.matches(lookup.Key(name)) && (v.anyValue || v.value.matches(value))
		}) {
			inherited = append(inherited, variable)
		}
	}
	return inherited
}

// variablePattern is an element of a list: a name, or "NAME=value".
type variablePattern struct {
	name, value pattern
	anyValue    bool
}

// variablePatterns parses a list. Names with the same key are the same.
func variablePatterns(list []string, key func(string) string) []variablePattern {
	patterns := make([]variablePattern, len(list))
	for i, element := range list {
		name, value, hasValue := lookup.Cut(element)
		if !hasValue {
			name = element
		}
		patterns[i] = variablePattern{pattern(key(name)), pattern(value), !hasValue}
	}
	return patterns
}
