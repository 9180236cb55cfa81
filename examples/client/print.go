package main

// This file prints. Each line begins with its kind: "> " is the agent's text, "[1] " is output of the first command,
// "? " is a question, and "* " is a line of the client. So no text of an agent or a command looks like another kind.

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// printer prints the texts of several goroutines.
type printer struct {
	commands sync.WaitGroup // their goroutines

	mu   sync.Mutex
	out  io.Writer
	last int    // the number of the last command
	line string // the kind of the unfinished line, or ""
}

// show prints a new command, and then its output as it arrives, and how it ended. A slow terminal does not delay the
// command: its output then comes in larger pieces, or is missed.
func (c *client) show(t *acpterm.Terminal) {
	p := &c.printer
	p.mu.Lock()
	p.last++
	kind := fmt.Sprintf("[%d] ", p.last)
	p.mu.Unlock()
	p.print(kind, "$ "+display.Visible(t.Command().String(), 200)+"\n")
	followed := make(chan struct{})
	p.commands.Go(func() {
		defer close(followed)
		var plain display.ANSIStripper
		for chunk := range t.Follow(context.Background(), 0) {
			if chunk.Missed > 0 {
				p.print("* ", fmt.Sprintf("%s%d bytes are missing here\n", kind, chunk.Missed))
			}
			p.print(kind, plain.Strip(chunk.Text))
		}
	})
	p.commands.Go(func() {
		<-t.Done()
		select {
		case <-followed:
		case <-time.After(time.Second): // a background process continues to write
		}
		p.print("* ", fmt.Sprintf("%s%s\n", kind, t.ExitStatus()))
	})
}

// print prints text of a kind. It escapes characters that steer the terminal.
func (p *printer) print(kind, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(text)) {
		if p.line != kind {
			if p.line != "" {
				fmt.Fprintln(p.out)
			}
			fmt.Fprint(p.out, kind)
		}
		text, ended := strings.CutSuffix(line, "\n")
		fmt.Fprint(p.out, display.Visible(text, 0))
		p.line = kind
		if ended {
			fmt.Fprintln(p.out)
			p.line = ""
		}
	}
}
