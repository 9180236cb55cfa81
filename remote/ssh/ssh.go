// Package ssh provides a remote.Transport over SSH. It uses golang.org/x/crypto/ssh and does not need an ssh program.
//
//	runner, err := remote.NewRunner(remote.Options{
//		Transport: &ssh.Transport{Host: "example.com", User: "me"},
//		Helpers:   os.DirFS("helpers"), // with acpterm-remote-linux-amd64
//	})
//
// Logins use public keys from files or from an agent. Passwords and keyboard-interactive logins are not supported, and
// hardware keys and certificates only through an agent. The server's key must be in a known hosts file, and
// @cert-authority lines are not supported. ssh_config is not read, so ProxyJump and ProxyCommand are not supported
// either. If any of these are needed, use remote.Command with the command line "ssh host".
//
// The connection returned by Open also has a method CloseWrite() error that closes the shell's standard input.
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

// Transport opens shells over SSH, using a separate connection for each. Only Host is required. The fields must not be
// changed after first use. Open is safe for concurrent use by multiple goroutines.
type Transport struct {
	// Host is "host" or "host:port". An IPv6 address with a port must be enclosed in brackets. The default port is 22.
	Host string

	// User is the user to log in as. The default is the name of the user running this process.
	User string

	// KnownHosts lists files of server keys in OpenSSH's format. The default is ~/.ssh/known_hosts, if it exists. A
	// server without a known key is rejected with a *HostKeyError.
	KnownHosts []string

	// Identities lists private key files. If set, only their keys are offered to the server, and if one is encrypted
	// and held by the agent, the agent signs with it. If empty, all keys of the agent are offered, followed by those of
	// ~/.ssh/id_ed25519, id_ecdsa and id_rsa.
	Identities []string

	// Passphrase returns the passphrase of an encrypted private key file. It is called during Open. If the file reveals
	// the public key, it is called only once the server has accepted that key. ctx is cancelled when Open should
	// return. If Passphrase is nil, encrypted keys are offered only through the agent.
	Passphrase func(ctx context.Context, file string) ([]byte, error)

	// Agent is the Unix socket of an agent. The default is the value of the environment variable SSH_AUTH_SOCK, if set.
	// If Agent is "none", no agent is used.
	Agent string
}

var _ remote.Transport = (*Transport)(nil)

// Open connects, logs in and starts sh. It returns an error if ctx is done first. The login shell is given the command
// "exec sh", so it may be any shell that accepts this. It has no PTY and reads no login profile, but bash may read
// ~/.bashrc. Any output of such files is skipped by the Runner.
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
