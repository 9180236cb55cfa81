// Package docker provides a remote.Transport that opens shells in a running container using exec. It uses the API of a
// Docker daemon and does not require a docker program.
//
//	runner, err := remote.NewRunner(remote.Options{
//		Transport: &docker.Transport{Container: "web"},
//		Helpers:   os.DirFS("helpers"), // with acpterm-remote-linux-amd64
//	})
//
// The package is tested with a scripted server, which runs a real sh. Most of the same tests also passed with the
// daemon of Docker 20.10 on Linux, and a few with the service of Podman 4.3, which offers the same API.
//
// Docker contexts and ssh:// hosts are not supported. If you need them, use remote.Command with the command line
// "docker exec -i name sh".
//
// The connection returned by Open also has a method CloseWrite() error, which closes the shell's standard input.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/client"

	"github.com/acpterm/acpterm/remote"
)

// A Transport opens shells in a running container, using a separate exec for each shell. All fields except Container
// are optional. The fields must not be modified after the first call to Open, which is safe for concurrent use by
// multiple goroutines.
type Transport struct {
	// Container is the container's name or ID.
	Container string

	// User is the user to run the shell as, in the form "name", "uid", "name:group" or "uid:gid". The default is the
	// container's user.
	User string

	// WorkingDir is the absolute path of the shell's working directory. The default is the container's working
	// directory.
	WorkingDir string

	// Env specifies variables, in the form "NAME=value", to add to the variables of the container.
	Env []string

	// Host is the address of the daemon, such as "unix:///var/run/docker.sock" or "tcp://host:2376". If Host is empty,
	// it defaults to the DOCKER_HOST environment variable. If DOCKER_HOST is not set either, the system's default
	// address is used. Note that DOCKER_CERT_PATH and DOCKER_TLS_VERIFY only apply to tcp addresses, whereas
	// DOCKER_API_VERSION applies to all addresses. Any proxy settings are ignored.
	Host string
}

var _ remote.Transport = (*Transport)(nil)

// Open runs sh in the container without a PTY.
func (t *Transport) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	name := "container " + t.Container
	c, err := t.open(ctx, name)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // err is only a consequence
		}
		return nil, fmt.Errorf("remote/docker: %s: %w", name, err)
	}
	return c, nil
}

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
