package ssh_test

// The user's configuration of OpenSSH.

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/shelltest"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/remote/ssh"
)

// configure writes ~/.ssh/config in a new home directory.
func configure(t *testing.T, lines ...string) (file string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_AUTH_SOCK", "")
	file = filepath.Join(home, ".ssh", "config")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	return file
}

// hostBlock returns the lines of the configuration for a server.
func hostBlock(alias string, s *sshdtest.Server) string {
	host, port, _ := net.SplitHostPort(s.Address)
	return fmt.Sprintf("Host %s\n  HostName %s\n  Port %s\n  User %s\n  IdentityFile %s\n  UserKnownHostsFile %s\n",
		alias, host, port, s.User, s.KeyFile, s.KnownHosts)
}

// An alias has its host, port, user, key and known hosts in the configuration. Fields of the Transport come first.
func TestConfig(t *testing.T) {
	s := start(t)
	file := configure(t, hostBlock("alias", s), "Host other", "HostName 127.0.0.1")
	check(t, &ssh.Transport{Host: "alias"})
	check(t, &ssh.Transport{Host: "alias", Config: []string{file}})

	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias", User: "nobody"}), "nobody@"+s.Address)
	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias:1"}), "@127.0.0.1:1: ")
	other := keygen(t, "ed25519", "")
	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias", Identities: []string{other}}), other)
	transport := &ssh.Transport{Host: "alias", KnownHosts: []string{knownHosts(t, s)}}
	require.ErrorAs(t, refusal(t, transport), new(*ssh.HostKeyError))

	// Without the files, it is the name of a host.
	for _, files := range [][]string{{}, {filepath.Join(t.TempDir(), "none")}} {
		require.NotContains(t, refusal(t, &ssh.Transport{Host: "alias", Config: files}).Error(), s.Address)
	}
}

// An unknown key is refused whatever the configuration allows.
func TestConfigDoesNotTrustUnknownKeys(t *testing.T) {
	s := start(t)
	for _, strict := range []string{"no", "off", "accept-new", "ask", "yes"} {
		configure(t, "StrictHostKeyChecking "+strict, "UserKnownHostsFile none "+knownHosts(t, s), hostBlock("alias", s))
		require.ErrorAs(t, refusal(t, &ssh.Transport{Host: "alias"}), new(*ssh.HostKeyError), strict)
	}
}

// Known hosts may have the key by an alias, and authorities for all ports.
func TestConfigHostKeyAlias(t *testing.T) {
	s := start(t)
	text, err := os.ReadFile(s.KnownHosts)
	require.NoError(t, err)
	named := filepath.Join(t.TempDir(), "known")
	address := "[" + strings.Replace(s.Address, ":", "]:", 1)
	require.NoError(t, os.WriteFile(named, []byte(strings.ReplaceAll(string(text), address, "name")), 0o600))
	configure(t, "UserKnownHostsFile /nothing/here "+named, hostBlock("alias", s), "Host alias", "HostKeyAlias name")
	check(t, &ssh.Transport{Host: "alias"})
}

// A server with a certificate is accepted by the authority's key, for the names in the certificate, and without it by
// its own key.
func TestCertAuthority(t *testing.T) {
	authority, key := keygen(t, "ecdsa", ""), keygen(t, "ed25519", "")
	sign := func(name string) {
		out, err := exec.Command("ssh-keygen", "-q", "-s", authority, "-I", "id", "-h", "-n", name, key+".pub").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	sign("127.0.0.1")
	s := start(t, "HostKey "+key, "HostCertificate "+key+"-cert.pub")
	transport := transportTo(t, s)
	public, err := os.ReadFile(authority + ".pub")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "known")
	transport.KnownHosts = []string{file}
	for marker, ok := range map[string]bool{"@cert-authority 127.*": true, "@cert-authority elsewhere": false, "127.0.0.1": false} {
		require.NoError(t, os.WriteFile(file, append([]byte(marker+" "), public...), 0o600))
		if ok {
			check(t, transport)
			continue
		}
		require.ErrorAs(t, refusal(t, transport), new(*ssh.HostKeyError), marker)
	}
	transport.KnownHosts = []string{knownHosts(t, s, publicKey(t, key+".pub"))}
	check(t, transport)
}

// ProxyJump leads through servers with settings of their own, which have to be known as well.
func TestProxyJump(t *testing.T) {
	first, second, target, closed := start(t), start(t), start(t), start(t, "AllowTcpForwarding no")
	blocks := hostBlock("first", first) + hostBlock("second", second) + "ProxyJump first\n" + hostBlock("target", target)
	for jump, through := range map[string][]*sshdtest.Server{
		"none": nil, "first": {first}, "second": {first, second}, "first,second": {first, second},
	} {
		configure(t, blocks, "ProxyJump "+jump)
		logged := make([]int, len(through))
		for i, s := range through {
			logged[i] = strings.Count(s.Log(), "Accepted publickey")
		}
		shelltest.Open(t, &ssh.Transport{Host: "target"}).TestBytes(1 << 20)
		for i, s := range through {
			require.Equal(t, logged[i]+1, strings.Count(s.Log(), "Accepted publickey"), "%s: server %d", jump, i)
		}
		if len(through) > 0 { // the connection really leads through it
			c := shelltest.Open(t, &ssh.Transport{Host: "target"})
			c.Say("echo ready; exec cat")
			c.Hear("ready\n")
			through[0].KillConnections()
			_, err := c.Read(make([]byte, 1))
			require.ErrorContains(t, err, "connection")
		}
	}
	configure(t, blocks, "ProxyJump first", "Host first", "HostKeyAlias unknown")
	err := refusal(t, &ssh.Transport{Host: "target"})
	require.ErrorAs(t, err, new(*ssh.HostKeyError))
	require.ErrorContains(t, err, "through "+first.User+"@"+first.Address)

	// A server that forwards nothing.
	configure(t, hostBlock("closed", closed), hostBlock("target", target), "ProxyJump closed")
	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "target"}), "prohibited")
}

// ConnectTimeout ends an attempt with a server that does not answer.
func TestConfigConnectTimeout(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	configure(t, "AddressFamily inet", "ConnectTimeout 1", "Host alias", "HostName localhost", "Port "+port)
	err = refusal(t, &ssh.Transport{Host: "alias"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "ConnectTimeout, 1s")
	requireNoGoroutines(t)
}

// A public key in the configuration selects the key of the agent.
func TestConfigOfAgent(t *testing.T) {
	s := start(t)
	file := keygen(t, "ed25519", "")
	authorize(t, s, file)
	block := strings.Replace(hostBlock("alias", s), s.KeyFile, file+".pub", 1)
	configure(t, block, "IdentitiesOnly yes", "IdentityAgent "+startAgent(t, file, ""))
	check(t, &ssh.Transport{Host: "alias"})
	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias", Agent: "none"}), "does not hold this key")

	for only, ok := range map[string]bool{"yes": false, "no": true} { // the server does not accept KeyFile any more
		configure(t, hostBlock("alias", s), "IdentitiesOnly "+only, "IdentityAgent "+startAgent(t, file, ""))
		if ok {
			check(t, &ssh.Transport{Host: "alias"})
		} else {
			refusal(t, &ssh.Transport{Host: "alias"})
		}
	}
}

// What cannot be honoured is refused, and names the file or the keyword.
func TestConfigIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"ProxyCommand nc %h %p":          "ProxyCommand is not supported",
		"KnownHostsCommand /bin/x":       "KnownHostsCommand is not supported",
		"RevokedHostKeys ~/.ssh/revoked": "RevokedHostKeys is not supported",
		"CanonicalizeHostname always":    "CanonicalizeHostname is not supported",
		"StrictHostKeyChecking perhaps":  "StrictHostKeyChecking has an unknown value",
		"IdentitiesOnly perhaps":         "IdentitiesOnly is not yes or no",
		"AddressFamily ipx":              "AddressFamily is not",
		"ConnectTimeout soon":            "ConnectTimeout is not a number",
		"IdentityFile ~/%C":              "IdentityFile has a token",
		"IdentityFile ${ACPTERM_NONE}/x": "IdentityFile has a variable that is not set",
		"UserKnownHostsFile \"a b\" c":   "quotes",
		"ProxyJump alias":                "more than 8 servers",
		"ProxyJump a,b,c,d,e,f,g,h,i":    "more than 8 servers",
		"Match exec true\nUser other":    "config: ",
		"  match=Host x\nUser other":     "Match Host x is not supported",
	} {
		configure(t, line)
		require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias"}), want, line)
	}
	file := configure(t)
	require.NoError(t, os.WriteFile(file, []byte("Include "+file), 0o600))
	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias"}), "depth")
	other := file + ".other"
	require.NoError(t, os.WriteFile(file, []byte("Include none "+other), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("Host a\nMatch host x\n"), 0o600))
	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias"}), "Match host x is not supported")
	configure(t, "ProxyCommand none", "Host alias", "HostName 127.0.0.1")
	require.ErrorContains(t, refusal(t, &ssh.Transport{Host: "alias:1"}), "127.0.0.1:1")
}

// The settings are those that OpenSSH reads from the same file.
func TestConfigAgreesWithOpenSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("ssh is not installed")
	}
	local, err := user.Current()
	require.NoError(t, err)
	included := filepath.Join(t.TempDir(), "included")
	require.NoError(t, os.WriteFile(included, []byte("Host in*\n  User of-included\nHost *\n  IdentityFile /c/%u\n"), 0o600))
	t.Setenv("ACPTERM_DIR", "/dir")
	file := configure(t, "# comment", "Port 2200", "Host a b.example !c.example *.example # end", "  hostname=%h.internal",
		"  User me", "\tIdentityFile /a/%r@%h:%p", "IdentityFile \"/a b/%n\"", "Host in1 in?2", "  HostName 10.0.0.1",
		"Include "+included, "Host a", "Port 1", "User ignored", "ProxyJump j1,me@j2:3", "Host in1",
		"  UserKnownHostsFile /k1 ${ACPTERM_DIR}/k2", "Host *", "ProxyJump last", "UserKnownHostsFile /k/%%/%h",
		"Match all", "  IdentityFile /all")
	for _, alias := range []string{"a", "b.example", "c.example", "d.example", "in1", "in12", "inner", "x", "::1"} {
		out, err := exec.Command("ssh", "-G", "-F", file, alias).Output()
		require.NoError(t, err)
		want := make(map[string][]string)
		for line := range strings.Lines(string(out)) {
			keyword, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			want[keyword] = append(want[keyword], value)
		}
		got, err := (&ssh.Transport{Host: alias}).Settings()
		require.NoError(t, err)
		for keyword, values := range got {
			if keyword == "userknownhostsfile" {
				values = []string{strings.Join(values, " ")}
			}
			expected := strings.NewReplacer("%r", want["user"][0], "%u", local.Username, "%h", want["hostname"][0],
				"%p", want["port"][0], "%n", alias, "%%", "%", "${ACPTERM_DIR}", "/dir", "~", os.Getenv("HOME"),
			).Replace(strings.Join(want[keyword], "\n"))
			require.Equal(t, expected, strings.Join(values, "\n"), "%s of %s", keyword, alias)
		}
	}
}
