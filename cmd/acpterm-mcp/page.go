package main

// The live page of -view.

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/archive"
	"github.com/acpterm/acpterm/view"
)

// loopback resolves an address. It fails for one that other machines can reach.
func loopback(address string) (string, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return "", fmt.Errorf("-view: %w", err)
	}
	if !addr.IP.IsLoopback() {
		return "", fmt.Errorf("-view: %s is not an address of loopback, such as 127.0.0.1:0", address)
	}
	return addr.String(), nil
}

// page is the live page. It is nil without -view.
type page struct {
	view   *view.View
	server *http.Server
	hub    *hub // nil if the port is 0
	remove func()
}

// servePage serves a page with a manager's terminals, and says where. The page may stop them: only the user who reads
// standard error, or the list of pages, has the address. A fixed port is shared by all servers that name it. kept,
// if set, has earlier commands.
func servePage(opts *options, m *acpterm.Manager, kept *archive.Archive) (*page, error) {
	if opts.view == "" {
		return nil, nil
	}
	p, err := newPage(opts, m, kept)
	if err != nil {
		return nil, fmt.Errorf("-view: %w", err)
	}
	return p, nil
}

func newPage(opts *options, m *acpterm.Manager, kept *archive.Archive) (*page, error) {
	list, err := opts.pages()
	host, port, _ := net.SplitHostPort(opts.view)
	shared := port != "0"
	if err != nil && shared {
		return nil, fmt.Errorf("a shared page needs a list of sessions: %w (port 0 needs none)", err)
	}
	settings := view.Options{AllowStop: true, Archive: kept, Editor: opts.editor}
	if shared {
		settings.FrameAncestors = origins(opts.view)
	}
	listener, failed := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if failed != nil {
		return nil, failed
	}
	v, failed := view.New(m, &settings)
	if failed != nil {
		listener.Close()
		return nil, failed
	}
	m.Observe(func(e acpterm.Event) {
		if started, ok := e.(*acpterm.StartEvent); ok {
			v.NameSession(started.SessionID, opts.roots[0]) // the only session
		}
	})
	p := &page{view: v, server: v.Server(), remove: func() {}}
	go p.server.Serve(listener)
	root := opts.roots[0]
	live := livePage{Name: filepath.Base(root), URL: v.URL(listener.Addr()), Root: root, Started: time.Now()}
	if shared {
		if live.Shared, failed = p.share(opts.view, list); failed != nil {
			p.close()
			return nil, failed
		}
	}
	if err == nil {
		p.remove, err = list.add(live)
	}
	if err != nil {
		p.remove = func() {}
		say(fmt.Sprintf("acpterm-mcp open does not find the page: %v", err))
	}
	say("watch at " + live.link())
	return p, nil
}

// share begins to serve the shared page, and returns its address.
func (p *page) share(address string, list pageList) (string, error) {
	token, err := list.token()
	if err != nil {
		return "", err
	}
	p.hub, err = startHub(address, token, list)
	if err != nil {
		return "", err
	}
	return p.hub.url(), nil
}

func (p *page) close() {
	if p == nil {
		return
	}
	p.remove()
	if p.hub != nil {
		p.hub.close()
	}
	p.view.Close()
	p.server.Close()
}
