package docker_test

// A server that answers a few requests of Docker's API, and runs the commands on this system. With
// ACPTERM_TEST_CONTAINERS, it passes everything on to the daemon at /var/run/docker.sock, Docker's or Podman's.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/runctest"
)

// server is the API of a daemon with one container.
type server struct {
	url  string // for DOCKER_HOST
	box  string // the container's name
	real *runctest.Container

	mu      sync.Mutex
	created []container.ExecCreateRequest // the index is the ID
	exits   []*int                        // nil if it runs
	streams []net.Conn
	cmds    []*exec.Cmd
	runs    sync.WaitGroup

	stop func() // stops the server and its commands
}

// startServer starts a server on a Unix socket. It stops when the test ends.
func startServer(t *testing.T) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "docker-") // t.TempDir may be too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	if runctest.Engine() != "" {
		return relay(t, listener, "unix://"+filepath.Join(dir, "s"))
	}
	return serve(t, listener, "unix://"+filepath.Join(dir, "s"))
}

// relay passes the connections of a listener to a real daemon with a real container.
func relay(t *testing.T, listener net.Listener, url string) *server {
	c := runctest.Start(t)
	s := &server{url: url, box: c.ID, real: c}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			daemon, err := net.Dial("unix", "/var/run/docker.sock")
			require.NoError(t, err)
			s.mu.Lock()
			s.streams = append(s.streams, conn, daemon)
			s.mu.Unlock()
			s.runs.Go(func() {
				_, _ = io.Copy(daemon, conn)
				_ = daemon.(*net.UnixConn).CloseWrite()
			})
			s.runs.Go(func() {
				_, _ = io.Copy(conn, daemon)
				_ = conn.Close()
				_ = daemon.Close()
			})
		}
	}()
	s.stop = sync.OnceFunc(func() {
		_ = listener.Close()
		<-accepted
		s.breakStreams()
		s.runs.Wait()
	})
	t.Cleanup(s.stop)
	return s
}

// serve starts a server on a listener.
func serve(t *testing.T, listener net.Listener, url string) *server {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh on Windows")
	}
	s := &server{url: url, box: "box"}
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		_, _ = io.WriteString(w, "OK")
	})
	mux.HandleFunc("POST /v1.44/containers/{name}/exec", s.create)
	mux.HandleFunc("POST /v1.44/exec/{id}/start", s.start)
	mux.HandleFunc("GET /v1.44/exec/{id}/json", s.inspect)
	web := &http.Server{Handler: mux}
	served := make(chan error)
	go func() { served <- web.Serve(listener) }()
	s.stop = sync.OnceFunc(func() {
		require.NoError(t, web.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
		s.breakStreams()
		s.mu.Lock()
		for _, cmd := range s.cmds {
			_ = cmd.Process.Kill()
		}
		s.mu.Unlock()
		s.runs.Wait()
	})
	t.Cleanup(s.stop)
	return s
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var request container.ExecCreateRequest
	if name := r.PathValue("name"); name != "box" {
		reply(w, http.StatusNotFound, map[string]string{"message": "No such container: " + name})
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created, s.exits = append(s.created, request), append(s.exits, nil)
	reply(w, http.StatusCreated, map[string]string{"Id": fmt.Sprint(len(s.created) - 1)})
}

func (s *server) start(w http.ResponseWriter, r *http.Request) {
	id := s.id(r)
	var request container.ExecStartRequest
	_ = json.NewDecoder(r.Body).Decode(&request)
	if request.Detach || request.Tty || r.Header.Get("Upgrade") != "tcp" {
		reply(w, http.StatusBadRequest, map[string]string{"message": "an attached stream was expected"})
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	s.mu.Lock()
	s.runs.Add(1)
	s.streams = append(s.streams, conn)
	created := s.created[id]
	s.mu.Unlock()
	defer s.runs.Done()
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\n"+
		"Content-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	code := s.run(created, buffered.Reader, conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exits[id] = &code
}

// run runs a command until it ends and returns its exit code.
func (s *server) run(created container.ExecCreateRequest, stdin io.Reader, conn net.Conn) int {
	cmd := exec.Command(created.Cmd[0], created.Cmd[1:]...)
	cmd.Env, cmd.Dir = append(os.Environ(), created.Env...), created.WorkingDir
	var mu sync.Mutex
	cmd.Stdout, cmd.Stderr = &stream{&mu, conn, 1}, &stream{&mu, conn, 2}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		s.mu.Lock()
		s.cmds = append(s.cmds, cmd)
		s.mu.Unlock()
	} else {
		_, _ = cmd.Stdout.Write([]byte(err.Error() + "\r\n")) // as Docker does
		return 127
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(pipe, stdin)
		_ = pipe.Close()
	}()
	_ = cmd.Wait()
	if half, ok := conn.(*net.UnixConn); ok {
		_ = half.CloseRead()
	} else {
		_ = conn.SetReadDeadline(time.Unix(1, 0))
	}
	<-copied
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 137
}

func (s *server) inspect(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := s.exits[s.id(r)]
	reply(w, http.StatusOK, container.ExecInspectResponse{ID: r.PathValue("id"), Running: code == nil, ExitCode: code})
}

// id returns the number of the exec.
func (s *server) id(r *http.Request) (id int) {
	_, _ = fmt.Sscan(r.PathValue("id"), &id)
	return id
}

// requests returns the requests that created the execs.
func (s *server) requests() []container.ExecCreateRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

// breakStreams closes the connections of all execs.
func (s *server) breakStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.streams {
		_ = conn.Close()
	}
}

// stream writes frames: the number of the stream, three zeros, the length, and the bytes.
type stream struct {
	mu     *sync.Mutex
	to     io.Writer
	number byte
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frame := binary.BigEndian.AppendUint32([]byte{s.number, 0, 0, 0}, uint32(len(p)))
	if _, err := s.to.Write(append(frame, p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
