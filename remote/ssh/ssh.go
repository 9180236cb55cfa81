// Package ssh provides a remote.Transport over SSH. It uses golang.org/x/crypto/ssh and does not require an ssh
// program.
//
//	runner, err := remote.NewRunner(remote.Options{
//		Transport: &ssh.Transport{Host: "example.com", User: "me"},
//		Helpers:   os.DirFS("helpers"), // with acpterm-remote-linux-amd64
//	})
//
// Users log in using public keys, which are read from files or provided by an agent. Hardware keys and certificates can
// only be used through an agent. Passwords and keyboard-interactive logins are not supported. The server's key, or the
// authority that has certified it, must be listed in a known hosts file.
//
// As with the ssh program, Host may be an alias in the user's ~/.ssh/config. The keywords Host, Match all, Include,
// HostName, Port, User, ProxyJump, AddressFamily, ConnectTimeout, HostKeyAlias, IdentityFile, IdentityAgent,
// IdentitiesOnly, UserKnownHostsFile and GlobalKnownHostsFile have their usual meaning. An unknown host key is always
// refused, whatever StrictHostKeyChecking says. Open fails if the file has another Match, or if ProxyCommand,
// KnownHostsCommand, RevokedHostKeys, CanonicalizeHostname, BindAddress or BindInterface is set for a host. All other
// keywords are ignored, for example those for algorithms. The system's configuration is not read. If you need any of
// these features, use remote.Command with the command line "ssh host" instead.
//
// The connection returned by Open also has a method CloseWrite() error, which closes the shell's standard input.
package ssh

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os/user"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/acpterm/acpterm/remote"
)

// A Transport opens shells over SSH, using a separate connection for each shell. All fields except Host are optional.
// The fields must not be modified after the first call to Open, which is safe for concurrent use by multiple
// goroutines.
type Transport struct {
	// Host is either "host" or "host:port", where host may be an alias in Config. If there is a port, IPv6 addresses
	// must be enclosed in brackets. The default port is the one in Config, or else 22.
	Host string

	// Config lists files in the format of ssh_config. For most keywords, only the first value counts. If Config is nil,
	// ~/.ssh/config is used if it exists. If Config is empty but non-nil, no file is read. The fields below take
	// precedence, and except for User also apply to the servers of ProxyJump.
	Config []string

	// User is the user name for the login. The default is the one in Config, or else the name of the current user.
	User string

	// KnownHosts lists files that contain the keys of known servers, in OpenSSH's format. If KnownHosts is nil, the
	// files in Config are used, or else ~/.ssh/known_hosts. Files missing from these defaults are skipped. If the key of
	// a server is not known, Open returns a *HostKeyError.
	KnownHosts []string

	// Identities lists private key files. If Identities is set, only the keys in these files are offered to the server.
	// If one of these keys is encrypted, or if only its public key is in the file, it is used through the agent,
	// provided that the agent holds the key. By default, all of the agent's keys are offered, followed by the keys in
	// the files in Config. If Config does not set any files, they are ~/.ssh/id_ed25519, id_ecdsa and id_rsa.
	Identities []string

	// Passphrase, if non-nil, is called by Open to obtain the passphrase of an encrypted private key file. If the
	// public key can be determined from the file, Passphrase is only called once the server has accepted that key. The
	// context is cancelled to indicate that Open should return. If Passphrase is nil, encrypted keys can only be used
	// through the agent.
	Passphrase func(ctx context.Context, file string) ([]byte, error)

	// Agent is the Unix socket of an agent. If empty, the one in Config is used, or else the SSH_AUTH_SOCK environment
	// variable. To connect without an agent, set Agent to "none".
	Agent string
}

var _ remote.Transport = (*Transport)(nil)

// Open connects to the server, logs in and starts sh. If ctx is done before sh has been started, Open returns an error.
// Any login shell may be used, provided that it accepts the command "exec sh". The login shell does not have a PTY and
// does not read a login profile, although bash may read ~/.bashrc. Any output written by such a file is skipped by the
// Runner.
func (t *Transport) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	to := parsePlace(t.Host)
	to.user = cmp.Or(t.User, to.user)
	config, err := t.readConfig()
	if err != nil {
		return nil, fmt.Errorf("remote/ssh: %s: %w", t.Host, err)
	}
	route, err := t.route(config, to)
	if err != nil {
		return nil, fmt.Errorf("remote/ssh: %s: %w", t.Host, err)
	}
	name := route[len(route)-1].name()
	c, err := t.open(ctx, name, route)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // err is only a consequence
		}
		return nil, fmt.Errorf("remote/ssh: %s: %w", name, err)
	}
	return c, nil
}

// open connects to the servers of a route, each through the one before, and starts a shell on the last.
func (t *Transport) open(ctx context.Context, name string, route []*hop) (*connection, error) {
	var clients []*ssh.Client
	for i, h := range route {
		client, err := t.connect(ctx, h, clients)
		if err != nil {
			closeAll(clients)
			if i < len(route)-1 {
				return nil, fmt.Errorf("through %s: %w", h.name(), err)
			}
			return nil, err
		}
		clients = append(clients, client)
	}
	last := len(clients) - 1
	c := newConnection(name, clients[last], clients[:last])
	stop := closeWhenDone(ctx, c.client)
	err := c.start()
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// connect logs in to a server, through the last of the clients if there are any.
func (t *Transport) connect(ctx context.Context, h *hop, through []*ssh.Client) (*ssh.Client, error) {
	if h.timeout > 0 {
		late := fmt.Errorf("no login within ConnectTimeout, %v: %w", h.timeout, context.DeadlineExceeded)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, h.timeout, late)
		defer cancel()
	}
	hosts, err := readKnownHosts(h)
	if err != nil {
		return nil, err
	}
	keys, err := t.loadKeys(ctx, h)
	if err != nil {
		return nil, err
	}
	defer keys.close()
	dialed, err := dial(ctx, h, through)
	if err != nil {
		return nil, orCause(ctx, err)
	}
	stop := closeWhenDone(ctx, dialed)
	defer stop()
	conn, channels, requests, err := ssh.NewClientConn(dialed, h.keyName, &ssh.ClientConfig{
		User:              h.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(keys.offer)},
		HostKeyCallback:   hosts.check,
		HostKeyAlgorithms: hosts.algorithms(h.keyName),
	})
	if err != nil {
		return nil, orCause(ctx, keys.explain(err))
	}
	client := ssh.NewClient(conn, channels, requests)
	if !stop() {
		closeAll([]*ssh.Client{client})
		return nil, context.Cause(ctx)
	}
	return client, nil
}

// orCause returns why ctx is done, or err if it is not.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// dial connects to a server.
func dial(ctx context.Context, h *hop, through []*ssh.Client) (net.Conn, error) {
	if len(through) == 0 {
		return new(net.Dialer).DialContext(ctx, h.network, h.address)
	}
	client := through[len(through)-1]
	stop := closeWhenDone(ctx, client)
	conn, err := client.Dial("tcp", h.address)
	if !stop() && err == nil {
		_ = conn.Close()
		return nil, context.Cause(ctx)
	}
	return conn, err
}

// closeAll closes connections that lead through each other, the last one first, and waits until they have ended.
func closeAll(clients []*ssh.Client) {
	for _, client := range slices.Backward(clients) {
		_ = client.Close() // fails if the connection is already lost
		_ = client.Wait()
	}
}

// currentUser returns the name of the user that runs this program.
func currentUser() (string, error) {
	current, err := user.Current()
	if err != nil {
		return "", err
	}
	_, name, found := strings.Cut(current.Username, `\`) // Windows: domain\user
	if !found {
		name = current.Username
	}
	return name, nil
}

// closeWhenDone closes c when ctx is done, until stop is called. Every call of stop reports whether c was left open.
func closeWhenDone(ctx context.Context, c io.Closer) (stop func() bool) {
	closed := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = c.Close()
	})
	return sync.OnceValue(func() bool {
		if cancel() {
			return true
		}
		<-closed
		return false
	})
}
