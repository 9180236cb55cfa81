package main

// Commands and output in other configurations of acpterm, beside the bare one.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/acpterm/acpterm/agentterm"
)

func configurationRows() []row {
	columns := []string{bare, followedByTen, displayed, paged, onPTY, ofTheAgent, remotely}
	commands := running("`true`, one by one, in other configurations", 1)
	writes := writing("64 KiB writes in other configurations", 128<<20, 64<<10)
	open := writes.open
	writes.open = func(s *stage, subject string) (turn, error) {
		if subject == ofTheAgent {
			return s.sendOutput(int64(s.Of(128<<20, 8<<20)))
		}
		return open(s, subject)
	}
	openCommands := commands.open
	commands.open = func(s *stage, subject string) (turn, error) {
		if subject == ofTheAgent { // runs its own commands
			return func(findings) error { return nil }, nil
		}
		return openCommands(s, subject)
	}
	commands.subjects, writes.subjects = columns, columns
	commands.rounds, writes.rounds = 20, 10
	return []row{commands, writes}
}

// sendOutput returns a turn in which the agent sends output of its own terminal.
func (s *stage) sendOutput(total int64) (turn, error) {
	p, err := s.start(ofTheAgent)
	if err != nil {
		return nil, err
	}
	update := func(kind string, members map[string]any) []byte {
		members["sessionUpdate"], members["terminalId"] = kind, "own"
		params := must(json.Marshal(map[string]any{"sessionId": session, "update": members}))
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", agentterm.MethodUpdate, params)
	}
	if _, err := p.toIt.Write(update("terminal_update", map[string]any{"command": "own"})); err != nil {
		return nil, err
	}
	text := someOutput(64 << 10)
	chunk := update("terminal_output_chunk", map[string]any{"data": text})
	sent := int64(0)
	return func(f findings) error {
		cpu := cpuOf(p.pid)
		began := time.Now()
		for now := int64(0); now < total; now += int64(len(text)) {
			if _, err := p.toIt.Write(chunk); err != nil {
				return err
			}
			sent += int64(len(text))
		}
		var shown int64
		if err := p.call(methodOwned, struct{}{}, &shown); err != nil {
			return err
		}
		f.add("throughput", float64(total)/time.Since(began).Seconds())
		f.add("client's CPU", (cpuOf(p.pid)-cpu).Seconds()*(1<<30)/float64(total))
		if shown != sent {
			return fmt.Errorf("the terminal shows %d bytes of %d", shown, sent)
		}
		return nil
	}, nil
}

// page URL: reads a live page as a browser does, with the output of each terminal, until its server ends. It prints a
// line when the page is open.
func page(args []string) error {
	response, err := http.Get(args[0] + "events")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Println()
	os.Stdout.Close()
	opened := make(map[string]bool)
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // the client has ended
			return nil
		}
		data, isData := strings.CutPrefix(line, "data: ")
		var table struct{ Rows []struct{ Key string } }
		if !isData {
			continue
		}
		if err := json.Unmarshal([]byte(data), &table); err != nil {
			return err
		}
		for _, row := range table.Rows {
			if !opened[row.Key] {
				opened[row.Key] = true
				go watch(args[0] + "terminals/" + row.Key + "/output")
			}
		}
	}
}

// watch reads the output of a terminal.
func watch(url string) {
	response, err := http.Get(url)
	if err == nil {
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
