// Package ssh is a remote.Transport over SSH, by golang.org/x/crypto/ssh: it needs no ssh program.
//
// It logs in with public keys, those of files and of an agent; there are no passwords, no keyboard-interactive login,
// and neither keys in hardware nor certificates other than by an agent. The server's key must be in a known hosts file;
// @cert-authority lines are not supported. ssh_config is not read, and ProxyJump and ProxyCommand are not supported:
// remote.Command with the command line "ssh host" has all that.
//
// What Open returns also has a method CloseWrite() error, which closes the shell's standard input.
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

// Transport opens shells over SSH, each over a connection of its own. Only Host must be set. The fields must not be
// changed once it is in use. Open is safe for concurrent use.
type Transport struct {
	// Host is "host" or "host:port"; an IPv6 address with a port is in brackets. The port is 22 unless given.
	Host string

	// User is the one to log in as. Empty: the name of the user that this process runs as.
	User string

	// KnownHosts are files of keys of servers, as OpenSSH has them. Empty: ~/.ssh/known_hosts, if that exists. A server
	// whose key is not in them is refused with a *HostKeyError.
	KnownHosts []string

	// Identities are files of private keys. If there are any, only these are offered to the server, and the agent signs
	// in place of encrypted ones that it holds. Empty: all keys of the agent, and then those of ~/.ssh/id_ed25519,
	// id_ecdsa and id_rsa.
	Identities []string

	// Passphrase returns the passphrase of an encrypted file of Identities. It is called while Open runs, and only if
	// the server accepts the key, as far as the file tells its public half; ctx ends when Open is to return. Nil:
	// encrypted keys are not offered, except by the agent.
	Passphrase func(ctx context.Context, file string) ([]byte, error)

	// Agent is the Unix socket of an agent. Empty: that of the variable SSH_AUTH_SOCK, if it is set. "none": no agent.
	Agent string
}

var _ remote.Transport = (*Transport)(nil)

// Open connects, logs in and starts sh, until ctx ends. The login shell is asked to "exec sh": it may be any shell that
// takes this. It sees no PTY and reads no profile of login shells, but bash may read ~/.bashrc. The Runner skips what
// that prints.
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
			err = context.Cause(ctx) // what failed is a consequence
		}
		return nil, fmt.Errorf("remote/ssh: %s: %w", name, err)
	}
	return c, nil
}

// open does what Open does.
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

// closeWhenDone closes c when ctx ends, until stop is called. stop always reports whether c was left open.
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
