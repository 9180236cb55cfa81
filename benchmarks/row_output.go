package main

// What an answer to terminal/output costs, from the request's first byte to the answer's last.

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// polled is a terminal whose output is asked for.
type polled struct {
	size int // bytes of output at first
	more int // and more before each poll
	each int // polls a turn
}

// client measures one of the clients.
func (o polled) client(name string, role role) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		p, err := s.startClient(name)
		if err != nil {
			return nil, err
		}
		writer, err := s.startWriter(p, o)
		if err != nil {
			return nil, err
		}
		line := p.request(acpterm.MethodOutput, writer.terminal)
		return func(f findings) error {
			for n := 0; n < o.polls(s.scale); {
				if err := writer.grow(); err != nil {
					return err
				}
				began := time.Now()
				answer, err := p.exchange(line)
				took := time.Since(began)
				if err != nil {
					return err
				}
				if len(answer) < o.size {
					return fmt.Errorf("an answer of %d bytes: %.200s", len(answer), answer)
				}
				if writer.isIn(answer) {
					f.add("round trip", took.Seconds())
					n++
				}
			}
			return nil
		}, nil
	}}
}

func (o polled) polls(s scale) int { return s.of(amounts{o.each, o.each, 2}) }

// floor is a ready line of the same size.
func (o polled) floor(name string) subject {
	return subject{name, floor, func(s *stage) (turn, error) {
		p, err := s.start(self("lines", o.size))
		if err != nil {
			return nil, err
		}
		line := p.request(acpterm.MethodOutput, terminal{"s", "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"})
		return func(f findings) error {
			for range o.polls(s.scale) {
				began := time.Now()
				if _, err := p.exchange(line); err != nil {
					return err
				}
				f.add("round trip", time.Since(began).Seconds())
			}
			return nil
		}, nil
	}}
}

// clients are the subjects of all rows here.
func (o polled) clients(floor string) []subject {
	return []subject{
		o.client("acpterm", ours), o.floor(floor), o.client("naive", peer), o.client("Go SDK", peer), o.client("Node", peer),
	}
}

// growing is the command in a terminal, in the hand of the benchmark.
type growing struct {
	polled
	terminal terminal
	conn     net.Conn
	times    int
	pause    time.Duration // from when it has written until the client is asked
}

// startWriter has a client run the command, and returns when the client has all of its first output.
func (s *stage) startWriter(p *process, o polled) (*growing, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	g := &growing{polled: o, pause: time.Millisecond}
	if g.terminal, err = p.create(self("grow", listener.Addr(), o.size, max(o.more, 100))); err != nil {
		return nil, err
	}
	if g.conn, err = listener.Accept(); err != nil {
		return nil, err
	}
	s.after(g.conn.Close)
	if err := g.wrote(); err != nil {
		return nil, err
	}
	for {
		var out struct{ Output string }
		if err := p.call(acpterm.MethodOutput, g.terminal, &out); err != nil || len(out.Output) > o.size-utf8.UTFMax {
			return g, err
		}
	}
}

// wrote returns when the command says that it has written.
func (g *growing) wrote() error {
	_, err := g.conn.Read(make([]byte, 1))
	return err
}

// grow has the command write more, and gives the client the time to read it. That is no part of what is measured.
func (g *growing) grow() error {
	if g.more == 0 {
		return nil
	}
	if _, err := g.conn.Write([]byte{0}); err != nil {
		return err
	}
	if err := g.wrote(); err != nil {
		return err
	}
	g.times++
	time.Sleep(g.pause)
	return nil
}

// isIn reports whether what was written last is in an answer. If not, the client gets more time before the next.
func (g *growing) isIn(answer []byte) bool {
	last := escape(nil, []byte(growMark(g.times)))
	if g.more == 0 || bytes.Contains(answer, last) {
		return true
	}
	g.pause *= 2
	return false
}

// passes are floors of the answer's making: copying the output, and escaping it.
func passes() []subject {
	text := someOutput(1 << 20)
	into := make([]byte, 0, 2<<20)
	pass := func(name string, do func() int) subject {
		return simple(name, floor, func(scale) turn {
			return func(f findings) error {
				for range 5 {
					began := time.Now()
					if do() < len(text) {
						return errors.New("that was too short")
					}
					f.add("round trip", time.Since(began).Seconds())
				}
				return nil
			}
		})
	}
	return []subject{
		pass("memcpy", func() int { return copy(into[:len(text)], text) }),
		pass("escaping pass", func() int { return len(escape(into, text)) }),
	}
}

func outputRows() []row {
	const line, echo = "ready line", "echo"
	metrics := func(t target) []metric { return []metric{{"round trip", seconds, median, t}} }
	return []row{
		{
			name: "output of 1 MiB, unchanged", rounds: amounts{20, 8, 1},
			subjects: append(polled{size: 1 << 20, each: 10}.clients(line), passes()...),
			metrics:  metrics(target{2, line, ratioAtMost}),
		},
		{
			name: "output of 1 MiB, 4 KiB of it new", rounds: amounts{20, 8, 1},
			subjects: polled{size: 1 << 20, more: 4 << 10, each: 10}.clients(line),
			metrics:  metrics(target{3, line, ratioAtMost}),
		},
		{
			name: "output of nothing", rounds: amounts{20, 8, 1},
			subjects: polled{each: 100}.clients(echo),
			metrics:  metrics(target{0.5, "naive", ratioAtMost}),
		},
	}
}
