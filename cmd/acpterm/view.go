package main

// This file serves the live page of -view.

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/view"
)

// livePage is the page of -view, from before the agent starts until the client ends. It is nil without -view.
type livePage struct {
	listener net.Listener
	view     *view.View
	server   *http.Server
}

// listenForPage listens on the address of the page, so that an error shows before anything is started.
func listenForPage(address string) (*livePage, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("-view: %w", err)
	}
	return &livePage{listener: listener}, nil
}

// serve shows a manager's terminals, and prints the address of the page. The page may stop them, and type into those
// with a PTY if options.Input is set: only the user who runs this program has the address.
func (p *livePage) serve(m *acpterm.Manager, options view.Options, tell io.Writer) (err error) {
	if p == nil {
		return nil
	}
	options.AllowStop = true
	if p.view, err = view.New(m, &options); err != nil {
		return err
	}
	p.server = p.view.Server()
	go p.server.Serve(p.listener)
	fmt.Fprintln(tell, "acpterm: watch at", p.url())
	return nil
}

// nameSession names a session. The page must be served before the first one.
func (p *livePage) nameSession(id acpterm.SessionID, name string) {
	if p != nil {
		p.view.NameSession(id, name)
	}
}

// url returns the address of the page, or "" without -view.
func (p *livePage) url() string {
	if p == nil {
		return ""
	}
	return p.view.URL(p.listener.Addr())
}

// stay leaves the page open until ctx is done, which happens when the user interrupts: a turn may be over before anyone
// has opened the page.
func (p *livePage) stay(ctx context.Context, tell io.Writer) {
	if p == nil || ctx.Err() != nil {
		return
	}
	fmt.Fprintln(tell, "acpterm: the page stays at", p.url())
	fmt.Fprintln(tell, "acpterm: interrupt to end it")
	<-ctx.Done()
}

// close ends the page and its pending responses.
func (p *livePage) close() {
	if p == nil {
		return
	}
	p.listener.Close()
	if p.server != nil {
		p.view.Close()
		p.server.Close()
	}
}
