// Package ssh provides a remote.Transport over SSH. It uses golang.org/x/crypto/ssh and does not require an ssh
// program.
//
//	runner, err := remote.NewRunner(remote.Options{
//		Transport: &ssh.Transport{Host: "example.com", User: "me"},
//		Helpers:   os.DirFS("helpers"), // with acpterm-remote-linux-amd64
//	})
//
// Users log in using public keys, which are read from files or provided by an agent. Hardware keys and certificates can
// only be used through an agent. Passwords and keyboard-interactive logins are not supported. The server's key must be
// listed in a known hosts file. Note that @cert-authority lines in such a file are not supported, and that ssh_config
// is not read, so ProxyJump and ProxyCommand have no effect. If you need any of these features, use remote.Command with
// the command line "ssh host" instead.
//
// The connection returned by Open also has a method CloseWrite() error, which closes the shell's standard input.
package ssh

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/user"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/acpterm/acpterm/remote"
)

// A Transport opens shells over SSH, using a separate connection for each shell. All fields except Host are optional.
// The fields must not be modified after the first call to Open, which is safe for concurrent use by multiple
// goroutines.
type Transport struct {
	// Host is either "host" or "host:port". If there is a port, IPv6 addresses must be enclosed in brackets. The
	// default port is 22.
	Host string

	// User is the user name for the login. The default is the name of the current user.
	User string

	// KnownHosts lists files that contain the keys of known servers, in OpenSSH's format. If KnownHosts is nil,
	// ~/.ssh/known_hosts is used if it exists. If the key of a server is not known, Open returns a *HostKeyError.
	KnownHosts []string

	// Identities lists private key files. If Identities is set, only the keys in these files are offered to the server.
	// If one of these keys is encrypted, it is used through the agent, provided that the agent holds the key. By
	// default, all of the agent's keys are offered, followed by the keys in ~/.ssh/id_ed25519, id_ecdsa and id_rsa.
	Identities []string

	// Passphrase, if non-nil, is called by Open to obtain the passphrase of an encrypted private key file. If the
	// public key can be determined from the file, Passphrase is only called once the server has accepted that key. The
	// context is cancelled to indicate that Open should return. If Passphrase is nil, encrypted keys can only be used
	// through the agent.
	Passphrase func(ctx context.Context, file string) ([]byte, error)

	// Agent is the Unix socket of an agent. If empty, the SSH_AUTH_SOCK environment variable is used. To connect
	// without an agent, set Agent to "none".
	Agent string
}

var _ remote.Transport = (*Transport)(nil)

// Open connects to the server, logs in and starts sh. If ctx is done before sh has been started, Open returns an error.
// Any login shell may be used, provided that it accepts the command "exec sh". The login shell does not have a PTY and
// does not read a login profile, although bash may read ~/.bashrc. Any output written by such a file is skipped by the
// Runner.
func (t *Transport) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	address := t.address()
	login, err := t.login()
	if err != nil {
		return nil, fmt.Errorf("remote/ssh: %s: %w", address, err)
	}
	name := login + "@" + address
	c, err := t.open(ctx, name, address, login)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // err is only a consequence
		}
		return nil, fmt.Errorf("remote/ssh: %s: %w", name, err)
	}
	return c, nil
}

func (t *Transport) open(ctx context.Context, name, address, login string) (*connection, error) {
	hosts, err := readKnownHosts(t.KnownHosts)
	if err != nil {
		return nil, err
	}
	keys, err := t.loadKeys(ctx)
	if err != nil {
		return nil, err
	}
	defer keys.close()
	dialed, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := closeWhenDone(ctx, dialed)
	defer stop()
	conn, channels, requests, err := ssh.NewClientConn(dialed, address, &ssh.ClientConfig{
		User:              login,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(keys.offer)},
		HostKeyCallback:   hosts.check,
		HostKeyAlgorithms: hosts.algorithms(address),
	})
	if err != nil {
		return nil, keys.explain(err)
	}
	c := newConnection(name, ssh.NewClient(conn, channels, requests))
	if err = c.start(); err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// address returns Host with a port.
func (t *Transport) address() string {
	if _, _, err := net.SplitHostPort(t.Host); err == nil {
		return t.Host
	}
	return net.JoinHostPort(strings.Trim(t.Host, "[]"), "22")
}

// login returns the user to log in as.
func (t *Transport) login() (string, error) {
	if t.User != "" {
		return t.User, nil
	}
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
