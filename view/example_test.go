package view_test

import (
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/view"
)

// Serve a page that shows a manager's terminals, on this machine, at a URL with a secret.
func ExampleNew() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	v, err := view.New(m, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := v.Server() // limits connections
	go server.Serve(listener)
	defer server.Close()

	page, err := http.Get(v.URL(listener.Addr()))
	if err != nil {
		log.Fatal(err)
	}
	page.Body.Close()
	fmt.Println(page.Status)
	// Output: 200 OK
}

// Show the terminals of two agents, each with its own manager, in one page.
func ExampleView_Add() {
	first, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	second, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	v, err := view.New(first, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()
	helper := v.Add(second, "helper")
	helper.NameSession("session-1", "Write the tests") // the name that the agent uses
	fmt.Println(v.TerminalPath("session-1", "term-1") == helper.TerminalPath("session-1", "term-1"))
	helper.Remove() // after that agent has ended
	// Output: false
}
