package main

// This file serves a live page with the commands of all conversations: for another window, or another screen.

import (
	"net"
	"net/http"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/view"
)

// page is the live page.
type page struct {
	view   *view.View
	server *http.Server
}

// ServePage serves the page until Quit, and returns its address, which is secret: the page may stop commands. It must
// be called before the first conversation.
func (e *Editor) ServePage(address string) (url string, err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	v, err := view.New(e.manager, &view.Options{AllowStop: true})
	if err != nil {
		listener.Close()
		return "", err
	}
	e.page = &page{view: v, server: v.Server()}
	e.busy.Go(func() { e.page.server.Serve(listener) })
	return v.URL(listener.Addr()), nil
}

// nameSession names a session on the page, if there is one.
func (e *Editor) nameSession(id acpterm.SessionID, name string) {
	if e.page != nil {
		e.page.view.NameSession(id, name)
	}
}

// close ends the page.
func (p *page) close() {
	if p != nil {
		p.view.Close()
		p.server.Close()
	}
}
