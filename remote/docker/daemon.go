package docker

// Connections to a daemon. The daemon is not trusted to limit the length of its answers.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/docker/go-connections/tlsconfig"
	"github.com/moby/moby/client"
)

// maxAnswer is the maximum length of an answer in bytes, including its header.
const maxAnswer = 64 << 10

// newClient returns an API client for a daemon. All its connections are bounded, and it uses no proxy.
func newClient(host string) (*client.Client, error) {
	at := client.WithHostFromEnv()
	if host != "" {
		at = client.WithHost(host)
	}
	reaching, err := client.New(at)
	if err != nil {
		return nil, err
	}
	dial, err := withTLS(reaching)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DisableCompression: true, // a short answer could expand to a long one
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dialed, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			b := &bounded{Conn: dialed}
			b.left.Store(maxAnswer)
			if stream, ok := ctx.Value(streamKey{}).(**bounded); ok {
				*stream = b
			}
			return b, nil
		},
	}
	hc := &http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}
	return client.New(at, client.WithHTTPClient(hc), client.WithAPIVersionFromEnv())
}

// withTLS returns the dial function of a client. It uses TLS if the environment says so and the daemon is reached over
// TCP. The client could do this itself, but would then dial the connections for streams without the limit on headers.
func withTLS(c *client.Client) (func(context.Context) (net.Conn, error), error) {
	dial := c.Dialer()
	host, err := client.ParseHostURL(c.DaemonHost())
	if err != nil {
		return nil, err
	}
	dir := os.Getenv(client.EnvOverrideCertPath)
	if dir == "" || host.Scheme != "tcp" {
		return dial, nil
	}
	config, err := tlsconfig.Client(tlsconfig.Options{
		CAFile:             filepath.Join(dir, "ca.pem"),
		CertFile:           filepath.Join(dir, "cert.pem"),
		KeyFile:            filepath.Join(dir, "key.pem"),
		InsecureSkipVerify: os.Getenv(client.EnvTLSVerify) == "",
		MinVersion:         tls.VersionTLS12,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", client.EnvOverrideCertPath, err)
	}
	config.ServerName = (&url.URL{Host: host.Host}).Hostname()
	return func(ctx context.Context) (net.Conn, error) {
		dialed, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		secure := tls.Client(dialed, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = dialed.Close()
			return nil, err
		}
		return secure, nil
	}, nil
}

// streamKey is the key of a context value of type **bounded, which receives the connection dialed with that context.
type streamKey struct{}

// bounded is a connection with answers of at most maxAnswer bytes, until it becomes a stream.
type bounded struct {
	net.Conn
	left     atomic.Int64 // bytes left for this answer
	isStream atomic.Bool
}

// Read reads from the underlying connection and returns an error if the answer is too long.
func (b *bounded) Read(p []byte) (int, error) {
	if b.isStream.Load() {
		return b.Conn.Read(p)
	}
	left := b.left.Load()
	if left <= 0 {
		return 0, fmt.Errorf("the daemon's answer has more than %d bytes", maxAnswer)
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), left)])
	b.left.Add(-int64(n))
	return n, err
}

// Write writes a request, which starts a new answer.
func (b *bounded) Write(p []byte) (int, error) {
	b.left.Store(maxAnswer)
	return b.Conn.Write(p)
}

// CloseWrite closes the writing half.
func (b *bounded) CloseWrite() error {
	half, ok := b.Conn.(client.CloseWriter)
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
