// Package ssh provides a remote.Transport over SSH. It uses golang.org/x/crypto/ssh and needs no ssh program.
//
//	runner, err := remote.NewRunner(remote.Options{
//		Transport: &ssh.Transport{Host: "example.com", User: "me"},
//		Helpers:   os.DirFS("helpers"), // with acpterm-remote-linux-amd64
//	})
//
// Users log in with public keys, from files or from an agent. Hardware keys and certificates work only through an
// agent; passwords and keyboard-interactive logins are not supported. The server's key must be listed in a known hosts
// file, where @cert-authority lines are not supported. ssh_config is not read, so ProxyJump and ProxyCommand have no
// effect. If you need any of these, use remote.Command with the command line "ssh host" instead.
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

// A Transport opens shells over SSH, using a separate connection for each. All fields except Host are optional, and
// must not be modified after first use. Open is safe for concurrent use by multiple goroutines.
type Transport struct {
	// Host is either "host" or "host:port", with IPv6 addresses in brackets if there is a port. The default port is 22.
	Host string

	// User is the user name for the login. The default is the name of the current user.
	User string

	// KnownHosts lists files with the keys of known servers, in OpenSSH's format. If nil, ~/.ssh/known_hosts is used if
	// it exists. If the key of a server is not known, Open returns a *HostKeyError.
	KnownHosts []string

	// Identities lists private key files. If set, only the keys in these files are offered to the server. Encrypted
	// ones are used through the agent if it has them. By default, all of the agent's keys are offered, followed by
	// those in ~/.ssh/id_ed25519, id_ecdsa and id_rsa.
	Identities []string

	// Passphrase, if non-nil, is called by Open to get the passphrase of an encrypted private key file. If the file
	// reveals the public key, Passphrase is only called once the server has accepted that key. The context is cancelled
	// when Open should return. If Passphrase is nil, encrypted keys are only used through the agent.
	Passphrase func(ctx context.Context, file string) ([]byte, error)

	// Agent is the Unix socket of an agent. If empty, the SSH_AUTH_SOCK environment variable is used. To connect
	// without an agent, set Agent to "none".
	Agent string
}

var _ remote.Transport = (*Transport)(nil)

// Open connects to the server, logs in and starts sh. If ctx is done first, Open fails. Any login shell will do,
// provided that it accepts the command "exec sh". It does not get a PTY or read a login profile, although bash may read
// ~/.bashrc. The Runner skips any output written by such files.
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
