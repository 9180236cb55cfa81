package main

// The live page of -view.

import (
	"fmt"
	"net"
	"net/http"

	"github.com/acpterm/acpterm"
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
}

// servePage serves a page with a manager's terminals, and says where. The page may stop them: only the user who reads
// standard error has the address. name is that of the only session.
func servePage(address string, m *acpterm.Manager, name string) (*page, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("-view: %w", err)
	}
	v, err := view.New(m, &view.Options{AllowStop: true})
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("-view: %w", err)
	}
	m.Observe(func(e acpterm.Event) {
		if started, ok := e.(*acpterm.StartEvent); ok {
			v.NameSession(started.SessionID, name)
		}
	})
	p := &page{view: v, server: v.Server()}
	go p.server.Serve(listener)
	say("watch at " + v.URL(listener.Addr()))
	return p, nil
}

func (p *page) close() {
	if p != nil {
		p.view.Close()
		p.server.Close()
	}
}
