package main

// The cost of a terminal/output, from the first byte of the request to the last byte of the answer.

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// polling measures answers of 1 MiB. more is the number of new bytes in each.
func polling(name string, more int) row {
	const metricName = "round trip"
	return row{
		name: name, rounds: 20,
		metrics: []metric{{name: metricName, unit: seconds}},
		open: func(s *stage, subject string) (turn, error) {
			p, err := s.start(subject)
			if err != nil {
				return nil, err
			}
			g, err := s.startGrowing(p, more)
			return func(f findings) error {
				for n := 0; n < s.Of(10, 2); {
					if err := g.grow(); err != nil {
						return err
					}
					took, shown, err := g.poll()
					if err != nil {
						return err
					}
					if shown {
						f.add(metricName, took.Seconds())
						n++
					}
				}
				return p.expect(g.terminal, kept(g.text), g.times > 0)
			}, err
		},
	}
}

// growing is a terminal whose command writes on request.
type growing struct {
	*process
	terminal terminal
	conn     net.Conn
	more     int // bytes each time
	times    int
	text     []byte        // the output, or at least its end
	pause    time.Duration // between a write and the request to the client
}

// startGrowing makes a client run the command, and returns when the client has received all of its first output.
func (s *stage) startGrowing(p *process, more int) (*growing, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	g := &growing{process: p, more: more, text: someOutput(outputLimit), pause: time.Millisecond}
	if g.terminal, err = p.create(bench.Self("grow", listener.Addr(), outputLimit, more)...); err != nil {
		return nil, err
	}
	if g.conn, err = listener.Accept(); err != nil {
		return nil, err
	}
	s.after(g.conn.Close)
	if err := g.wrote(); err != nil {
		return nil, err
	}
	for began := time.Now(); time.Since(began) < 10*time.Second; {
		if text, _, err := p.output(g.terminal); err != nil || text == string(g.text) {
			return g, err
		}
	}
	return nil, errors.New("the output does not become what it should be")
}

// wrote waits until the command reports that it has written.
func (g *growing) wrote() error {
	_, err := g.conn.Read(make([]byte, 1))
	return err
}

// grow makes the command write more, and gives the client time to read it. That time is not measured.
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
	g.text = append(g.text[max(0, len(g.text)-outputLimit):], grown(g.more, g.times)...)
	time.Sleep(g.pause)
	return nil
}

// poll measures one round trip. It reports whether the answer contains the last write. If not, the client gets more
// time before the next poll.
func (g *growing) poll() (took time.Duration, shown bool, err error) {
	line := g.request(acpterm.MethodOutput, g.terminal)
	began := time.Now()
	answer, err := g.exchange(line)
	took = time.Since(began)
	if err != nil {
		return 0, false, err
	}
	last, err := json.Marshal(string(g.text[len(g.text)-20:]))
	if err != nil || bytes.Contains(answer, bytes.Trim(last, `"`)) {
		return took, true, err
	}
	if g.pause *= 2; g.pause > time.Second {
		return 0, false, errors.New("new output does not appear")
	}
	return took, false, nil
}

func pollRows() []row {
	return []row{polling("output of 1 MiB, unchanged", 0), polling("output of 1 MiB, 4 KiB of it new", 4<<10)}
}
