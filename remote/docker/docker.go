// Package docker is a remote.Transport by exec in a running container, over the API of a Docker daemon: it needs no
// docker program.
//
// It was tested against a server in the test that answers the few requests needed as Docker's API documents them, runs
// a real sh and multiplexes its output as Docker does; it was not tested against a Docker daemon. Podman's service has
// the same API and should work, which was not tested either.
//
// Docker contexts are not read, and the daemon cannot be reached over ssh:// here; remote.Command with the command line
// "docker exec -i name sh" has both.
//
// What Open returns also has a method CloseWrite() error, which closes the shell's standard input.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/client"

	"github.com/acpterm/acpterm/remote"
)

// Transport opens shells in a running container, each by an exec of its own. Only Container must be set. The fields
// must not be changed once it is in use. Open is safe for concurrent use.
type Transport struct {
	// Container is the container's name or id.
	Container string

	// User is the one in the container that the shell runs as: "name", "uid", "name:group" or "uid:gid". Empty: the
	// container's.
	User string

	// WorkingDir is the directory that the shell starts in, an absolute path. Empty: the container's.
	WorkingDir string

	// Env is added to the container's environment, "NAME=value".
	Env []string

	// Host is the daemon, such as "unix:///var/run/docker.sock" or "tcp://host:2376". Empty: that of the variable
	// DOCKER_HOST, or else this system's usual one. DOCKER_API_VERSION holds for either, and DOCKER_CERT_PATH and
	// DOCKER_TLS_VERIFY for one with tcp. Proxies are not used.
	Host string
}

var _ remote.Transport = (*Transport)(nil)

// Open runs sh in the container, without a PTY.
func (t *Transport) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	name := "container " + t.Container
	c, err := t.open(ctx, name)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // what failed is a consequence
		}
		return nil, fmt.Errorf("remote/docker: %s: %w", name, err)
	}
	return c, nil
}

// open does what Open does.
func (t *Transport) open(ctx context.Context, name string) (*connection, error) {
	if t.Container == "" {
		return nil, errors.New("Transport.Container is empty")
	}
	api, err := newClient(t.Host)
	if err != nil {
		return nil, err
	}
	exec, err := api.ExecCreate(ctx, t.Container, client.ExecCreateOptions{
		User:         t.User,
		WorkingDir:   t.WorkingDir,
		Env:          t.Env,
		Cmd:          []string{"sh"},
		AttachStdin:  true,
		AttachStdout: true,
		AttachStderr: true,
	})
	if err != nil {
		_ = api.Close()
		return nil, err
	}
	var stream *bounded
	attached, err := api.ExecAttach(context.WithValue(ctx, streamKey{}, &stream), exec.ID, client.ExecAttachOptions{})
	if err != nil {
		_ = api.Close()
		return nil, err
	}
	stream.isStream.Store(true)
	return newConnection(name, api, exec.ID, attached.HijackedResponse), nil
}
