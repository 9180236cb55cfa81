package docker_test

// A daemon that lies about the length of its answers, and a daemon with TLS.

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/shelltest"
	"github.com/acpterm/acpterm/remote/docker"
)

// endless is the number of bytes in an endless answer, far more than the client reads.
const endless = 64 << 20

// liar returns the URL of a server that answers like a daemon, but answers the request for path with white space.
func liar(t *testing.T, path, header string) (url string) {
	t.Helper()
	t.Cleanup(func() { requireNoGoroutines(t) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	white := bytes.Repeat([]byte(" "), 64<<10)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, path) && strings.Contains(r.URL.Path, "_ping") {
			w.Header().Set("Api-Version", "1.44")
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		switch {
		case strings.Contains(r.URL.Path, path):
			_, _ = io.WriteString(conn, header)
			if strings.Contains(header, "gzip") {
				packed := gzip.NewWriter(conn)
				defer func() { _ = packed.Close() }()
				for left := endless; err == nil && left > 0; left -= len(white) {
					_, err = packed.Write(white)
				}
			}
			for left := endless; err == nil && left > 0; left -= len(white) {
				_, err = conn.Write(white)
			}
		case strings.HasSuffix(r.URL.Path, "/start"): // a shell that ends immediately
			_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		default:
			_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{\"Id\":\"0\"}")
		}
	})}
	served := make(chan error)
	go func() { served <- web.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, web.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return "tcp://" + listener.Addr().String()
}

// The client reads only the beginning of an answer, however long it is.
func TestAnswersAreBounded(t *testing.T) {
	const bound = 8 << 20 // bytes; none of these needs a tenth of it
	const ok, refused = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 500 No\r\n"
	for name, c := range map[string]struct{ path, header string }{
		"a ping's header":       {"/_ping", ok + "X: "},
		"a created exec":        {"/containers/", ok + "\r\n"},
		"its header":            {"/containers/", ok + "X: "},
		"its header's lines":    {"/containers/", strings.Repeat("X", 70_000)},
		"its refusal":           {"/containers/", refused + "\r\n"},
		"packed":                {"/containers/", ok + "Content-Encoding: gzip\r\n\r\n"},
		"a stream's header":     {"/start", "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nX: "},
		"a stream's refusal":    {"/start", refused + "\r\n"},
		"an exec that is asked": {"/json", ok + "\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			transport := &docker.Transport{Container: "box", Host: liar(t, c.path, c.header)}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			shell, err := transport.Open(t.Context())
			if err == nil {
				_, err = shell.Read(make([]byte, 1))
				require.NoError(t, shell.Close())
			}
			runtime.ReadMemStats(&after)
			if c.path != "/_ping" { // without an answer to a ping, the client continues
				require.Error(t, err)
				require.NotErrorIs(t, err, io.EOF)
			}
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB: %.300v", allocated>>10, err)
			require.Less(t, allocated, uint64(bound))
		})
	}
}

// The certificates of the environment give access to a daemon with TLS, and its shells work as usual.
func TestTLS(t *testing.T) {
	t.Cleanup(func() { requireNoGoroutines(t) })
	dir, certificate := certificates(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert,
	})
	require.NoError(t, err)
	s := serve(t, listener, "tcp://"+listener.Addr().String())
	transport := &docker.Transport{Container: "box", Host: s.url}
	t.Setenv("DOCKER_CERT_PATH", dir)
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	c := shelltest.Open(t, transport)
	c.Say("head -c 200000 /dev/zero | tr '\\0' x; echo; exec cat")
	c.Hear(strings.Repeat("x", 200_000) + "\n")
	c.Say("ready")
	c.Hear("ready\n")
	require.NoError(t, c.CloseWrite())
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)

	other, _ := certificates(t)
	t.Setenv("DOCKER_CERT_PATH", other)
	_, err = transport.Open(t.Context())
	require.ErrorContains(t, err, "certificate")
	t.Setenv("DOCKER_TLS_VERIFY", "")
	shelltest.Open(t, transport)
	t.Setenv("DOCKER_CERT_PATH", t.TempDir())
	_, err = transport.Open(t.Context())
	require.ErrorContains(t, err, "DOCKER_CERT_PATH")
}

// certificates creates a key with a certificate for both sides, and a directory of them as Docker expects it.
func certificates(t *testing.T) (dir string, certificate tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir = t.TempDir()
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{
		"ca.pem": public, "cert.pem": public,
		"key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
