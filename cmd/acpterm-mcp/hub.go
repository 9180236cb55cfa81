package main

// The page with all sessions of the user. The servers with the same address in -view share it: one of them serves it,
// and when that one ends, another one does.

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed hub.html
var hubPage string

const (
	// hubTries is how often a server that starts tries to serve the page, or to find that another one does.
	hubTries = 20
	// hubRetry is how often a server tries to serve the page.
	hubRetry = time.Second
	// hubTimeout limits each request and response.
	hubTimeout = 10 * time.Second
)

// hub is the page with all sessions.
type hub struct {
	address, token string
	list           pageList
	page           *template.Template

	cancel context.CancelFunc
	done   chan struct{} // closed when this process has stopped serving the page
}

// startHub serves the page at an address as soon as no other process does, until close is called.
func startHub(address, token string, list pageList) (*hub, error) {
	page, err := template.New("hub").Parse(hubPage)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &hub{address: address, token: token, list: list, page: page, cancel: cancel, done: make(chan struct{})}
	for range hubTries {
		var first net.Listener
		if first, err = net.Listen("tcp", address); err == nil || h.proven() {
			go h.run(ctx, first)
			return h, nil
		}
		time.Sleep(hubRetry / 10) // the process that served the page is ending
	}
	cancel()
	return nil, fmt.Errorf("another program uses the address: %w", err)
}

// proof returns an answer that only a process with the token can give, and that does not reveal the token.
func (h *hub) proof(challenge string) string {
	mac := hmac.New(sha256.New, []byte(h.token))
	mac.Write([]byte(challenge))
	return hex.EncodeToString(mac.Sum(nil))
}

// proven reports whether the page is served at the address, and not another one that would learn the token.
func (h *hub) proven() bool {
	challenge := rand.Text()
	client := &http.Client{Timeout: hubTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + h.address + "/proof/" + challenge)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return err == nil && hmac.Equal(text, []byte(h.proof(challenge)))
}

// url returns the address of the page.
func (h *hub) url() string { return "http://" + h.address + "/" + h.token + "/" }

// origins returns the origins of the page, by its names.
func origins(address string) []string {
	_, port, _ := net.SplitHostPort(address)
	return []string{"http://" + address, "http://localhost:" + port}
}

// run serves the page on a listener. If it is nil, run waits for the address first.
func (h *hub) run(ctx context.Context, listener net.Listener) {
	defer close(h.done)
	for ctx.Err() == nil {
		if listener != nil {
			server := &http.Server{
				Handler: h, ReadHeaderTimeout: hubTimeout, ReadTimeout: hubTimeout, WriteTimeout: hubTimeout,
				IdleTimeout: hubTimeout, MaxHeaderBytes: 16 << 10,
			}
			stop := context.AfterFunc(ctx, func() { server.Close() })
			server.Serve(listener)
			stop()
			server.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(hubRetry):
			listener, _ = net.Listen("tcp", h.address) // fails while another process serves it
		}
	}
	if listener != nil {
		listener.Close()
	}
}

func (h *hub) close() {
	h.cancel()
	<-h.done
}

// ServeHTTP serves the page and, for its script, the list of sessions.
func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	host, _, _ := net.SplitHostPort(h.address)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	header := w.Header()
	header.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src 'nonce-%[1]s'; "+
		"style-src 'nonce-%[1]s'; connect-src 'self'; frame-src http://%[2]s:*; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'none'", nonce, host))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	token, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch known := slices.Contains(origins(h.address), "http://"+r.Host); { // not after DNS rebinding
	case known && token == "proof" && r.Method == http.MethodGet:
		io.WriteString(w, h.proof(path))
	case !known, subtle.ConstantTimeCompare([]byte(token), []byte(h.token)) != 1:
		http.Error(w, "forbidden", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
	case path == "":
		header.Set("Content-Type", "text/html; charset=utf-8")
		h.page.Execute(w, nonce)
	case path == "sessions":
		header.Set("Content-Type", "application/json")
		pages := slices.DeleteFunc(h.list.all(), func(p livePage) bool { return p.Shared != h.url() })
		json.NewEncoder(w).Encode(pages)
	default:
		http.NotFound(w, r)
	}
}
