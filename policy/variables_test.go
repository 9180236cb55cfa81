package policy_test

// The variables that an agent may set.

import (
	"runtime"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
	"github.com/stretchr/testify/require"
)

// decideVariable returns the decision about a command for which the agent sets a variable after a harmless one. It
// fails if a reason shows the value.
func decideVariable(t *testing.T, guard acpterm.Policy, name, value string) acpterm.Decision {
	t.Helper()
	d := guard.Decide(t.Context(), acpterm.Proposal{Requested: acpterm.CreateTerminalRequest{
		Env: []acpterm.EnvVariable{{Name: "CI", Value: "1"}, {Name: name, Value: value}},
	}})
	require.NotContains(t, d.Reason, "secret")
	return d
}

// maySet reports whether the agent may set a variable.
func maySet(t *testing.T, guard acpterm.Policy, name, value string) bool {
	t.Helper()
	return decideVariable(t, guard, name, value).Verdict == acpterm.VerdictAllow
}

func TestDeniedVariables(t *testing.T) {
	denied := policy.DenyVariables("LD_*", "GIT_PAGER", "MODE=fast*")
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"CI", "secret", true}, {"GIT_PAGERS", "secret", true}, {"XLD_PRELOAD", "secret", true},
		{"LD_PRELOAD", "secret", false}, {"LD_", "secret", false}, {"GIT_PAGER", "secret", false},
		{"ld_preload", "secret", false}, {"Git_Pager", "secret", false}, // some programs ignore case
		{"MODE", "slow", true}, {"MODE", "", true}, {"MODE", "fast", false}, {"mode", "faster", false},
		{"MODE", "FAST", true},
	} {
		d := decideVariable(t, denied, c.name, c.value)
		require.Equal(t, c.want, d.Verdict == acpterm.VerdictAllow, "%+v", c)
		require.Equal(t, "deny-variables", d.Rule)
	}
}

func TestAllowedVariables(t *testing.T) {
	allowed := policy.AllowVariables("CI", "MY_*", "PAGER=cat", "LANG=??_??.UTF-8", "EMPTY=")
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"CI", "any thing", true}, {"CI", "", true}, {"MY_X", "1", true}, {"CIX", "1", false}, {"X", "1", false},
		{"ci", "1", runtime.GOOS == "windows"},
		{"PAGER", "cat", true}, {"PAGER", "", false}, {"PAGER", "cat x", false}, {"PAGER", "secret", false},
		{"LANG", "de_DE.UTF-8", true}, {"LANG", "../x.UTF-8", false},
		{"EMPTY", "", true}, {"EMPTY", "1", false},
	} {
		require.Equal(t, c.want, maySet(t, allowed, c.name, c.value), "%+v", c)
	}
}

// A value computed by a shell line may be anything.
func TestUnknownValues(t *testing.T) {
	p := acpterm.Proposal{ValuesUnknown: []string{"MODE"}, Requested: acpterm.CreateTerminalRequest{
		Env: []acpterm.EnvVariable{{Name: "MODE", Value: "slow"}},
	}}
	for _, c := range []struct {
		guard acpterm.Policy
		want  acpterm.Verdict
	}{
		{policy.AllowVariables("MODE"), acpterm.VerdictAllow},
		{policy.AllowVariables("MODE=slow"), acpterm.VerdictDeny},
		{policy.DenyVariables("MODE"), acpterm.VerdictDeny},
		{policy.DenyVariables("MODE=fast"), acpterm.VerdictDeny},
		{policy.DenyVariables("OTHER=fast"), acpterm.VerdictAllow},
	} {
		require.Equal(t, c.want, c.guard.Decide(t.Context(), p).Verdict)
	}
}

func TestInheritedVariables(t *testing.T) {
	environ := []string{"A=1", "B=2", "LC_X=2", "=C:=x", "PAGER=less", "PAGERS=cat"}
	require.Equal(t, []string{"A=1", "LC_X=2"}, policy.InheritVariables(environ, "A", "LC_*", "PAGER=cat"))
	require.Equal(t, []string{"PAGER=less", "PAGERS=cat"}, policy.InheritVariables(environ, "PAGER=l*", "PAGERS=*"))
	require.Equal(t, []string{}, policy.InheritVariables(environ))
}

// Names once missing from the list of dangerous variables, or listed for good reasons.
const dangerous = `
	GNUMAKEFLAGS GOCACHEPROG GOAUTH TAR_OPTIONS ZIPOPT UNZIP OPENSSL_CONF npm_config_script_shell
	npm_config_node_options Npm_Config_shell COMPILER_PATH GCC_EXEC_PREFIX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS WGETRC
	SYSTEM_WGETRC PIP_PYTHON PIP_INDEX_URL http_proxy https_proxy all_proxy ftp_proxy no_proxy HTTP_PROXY LD_PRELOAD
	LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES GCONV_PATH GLIBC_TUNABLES LOCPATH NLSPATH HOSTALIASES RES_OPTIONS
	TMPDIR MALLOC_CHECK_ LANGUAGE TERMINFO SSLKEYLOGFILE SSL_CERT_FILE ASAN_OPTIONS PATH PATHEXT COMSPEC SHELL HOME
	XDG_CONFIG_HOME XDG_CONFIG_DIRS ENV BASH_ENV BASHOPTS SHELLOPTS BASH_FUNC_git%% IFS CDPATH PS4 PROMPT_COMMAND
	ZDOTDIR FPATH INPUTRC GIT_SSH_COMMAND GIT_PAGER SSH_ASKPASS SUDO_ASKPASS EDITOR VISUAL PAGER LESSOPEN LESSCLOSE
	MANPAGER BROWSER RSYNC_RSH CVS_RSH FZF_DEFAULT_COMMAND RIPGREP_CONFIG_PATH BAT_PAGER PSQLRC CURL_HOME DOCKER_HOST
	KUBECONFIG AWS_CONFIG_FILE PYTHONSTARTUP PYTHONPATH NODE_OPTIONS NODE_PATH NPM_CONFIG_X YARN_RC_FILENAME PERL5OPT
	PERL5LIB PERLLIB RUBYOPT RUBYLIB GEM_HOME BUNDLE_GEMFILE PHPRC PHP_INI_SCAN_DIR COMPOSER_HOME JAVA_TOOL_OPTIONS
	_JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS DOTNET_STARTUP_HOOKS CORECLR_PROFILER
	COMPlus_EnableDiagnostics GOFLAGS GOPROXY GOTOOLCHAIN GOENV GOROOT GOPATH CC CXX LD AR CGO_CFLAGS CARGO_HOME
	RUSTC_WRAPPER RUSTFLAGS RUSTDOCFLAGS MAKEFLAGS MAKEFILES CMAKE_GENERATOR LUA_INIT LUA_PATH TCLLIBPATH
	R_PROFILE_USER JULIA_LOAD_PATH ERL_AFLAGS OPAMROOT PKG_CONFIG_PATH CONFIG_SITE SCCACHE_SERVER_PORT`

func TestDangerousVariables(t *testing.T) {
	denied := policy.DenyVariables(policy.DangerousVariables()...)
	for _, name := range strings.Fields(dangerous) {
		require.False(t, maySet(t, denied, name, "secret"), name)
	}
	for _, name := range strings.Fields("CI MY_VARIABLE PATHS TERM NO_COLOR LANG LC_ALL PORT TOKEN DATABASE_URL") {
		require.True(t, maySet(t, denied, name, "1"), name)
	}
}

func TestSafeVariables(t *testing.T) {
	safe := policy.AllowVariables(policy.SafeVariables()...)
	for _, name := range strings.Fields(dangerous) {
		require.False(t, maySet(t, safe, name, "secret"), name)
	}
	for variable, want := range map[string]bool{
		"CI=1": true, "NO_COLOR=": true, "FORCE_COLOR=0": true, "TERM=dumb": true, "TERM=xterm-256color": true,
		"COLUMNS=80": true,
		"LANG=C":     true, "LC_ALL=C.UTF-8": true, "LC_ALL=en_US.UTF-8": true, "LC_MESSAGES=C": true, "TZ=UTC": true,
		"PAGER=cat": true, "GIT_PAGER=cat": true, "GIT_PAGER=": true, "GIT_TERMINAL_PROMPT=0": true,
		"GIT_EDITOR=true":                true,
		"DEBIAN_FRONTEND=noninteractive": true, "PYTHONUNBUFFERED=1": true, "RUST_BACKTRACE=full": true,
		"NODE_ENV=test": true,

		"PAGER=./evil": false, "GIT_PAGER=less": false, "GIT_EDITOR=vi": false, "GIT_DIR=/x": false, "TERM=../x": false,
		"LC_ALL=ja_JP.SJIS": false, "LC_ALL=../../x": false, "LANG=/x/y.UTF-8": false, "LANGUAGE=de": false,
		"TZ=/etc/passwd": false,
		"NODE_ENV=../x":  false, "GIT_TERMINAL_PROMPT=1": false, "X=1": false, "PYTHONPATH=.": false, "PATH=.": false,
		"TMPDIR=.": false,
	} {
		name, value, _ := strings.Cut(variable, "=")
		require.Equal(t, want, maySet(t, safe, name, value), variable)
	}
}
