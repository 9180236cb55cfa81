package main

// Output: long output, characters split across writes, a long log.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func outputRows() []row {
	return []row{
		{"5 MB of output: the answer", longAnswer},
		{"5 MB of output: readable with all tools", longAll},
		{"characters split across writes: U+FFFD instead", splitCharacters},
		{"a long log: tokens (bytes / 4) for the model", longLog},
		{"the list of tools: tokens", toolList},
	}
}

// written is the result of the child write.
type written struct {
	answer
	*running
	lines    int
	finished bool // the command was not killed
}

// writeLong runs the child write.
func (c *cellOf) writeLong(lines int, more ...string) (w written, err error) {
	w.lines = lines
	if w.running, err = c.open(more...); err != nil {
		return w, err
	}
	file := filepath.Join(c.dir, "finished")
	if w.answer, err = w.run(c, c.marked(self("write", lines, file))); err != nil {
		return w, err
	}
	_, err = os.Stat(file)
	w.finished = err == nil
	return w, nil
}

// intact returns how many different lines of the output are in a text unchanged.
func (w written) intact(text string) int {
	found := make(map[int]bool)
	for line := range strings.Lines(text) {
		var n int
		line = strings.TrimSuffix(line, "\n") + "\n"
		if _, err := fmt.Sscanf(line, "%08d ", &n); err == nil && line == numberedLine(n) {
			found[n] = true
		}
	}
	return len(found)
}

// share describes how much of the output is in a text.
func (w written) share(text string) string {
	switch lost := w.lines - w.intact(text); {
	case lost == 0:
		return "all lines"
	case lost <= w.lines/100:
		return fmt.Sprintf("all but %d of %d lines", lost, w.lines)
	default:
		return fmt.Sprintf("%d %% of the lines", 100*(w.lines-lost)/w.lines)
	}
}

func (c *cellOf) longLines() int { return c.Of(5<<20, 5<<18) / lineSize }

func longAnswer(c *cellOf) (string, error) {
	w, err := c.writeLong(c.longLines())
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s: %s", size(w.model), w.share(w.text))
	switch {
	case w.cut != "":
		text += fmt.Sprintf(", says “%s”", w.cut)
	case w.intact(w.text) < w.lines:
		text += ", does not say that it is cut"
	}
	if !w.finished {
		text += "; the command was killed"
	}
	return text + invalid(w.text), nil
}

// invalid describes the damaged characters in a text.
func invalid(text string) string {
	if n := strings.Count(text, "\uFFFD"); n > 0 {
		return fmt.Sprintf("; %d U+FFFD", n)
	}
	return ""
}

func longAll(c *cellOf) (string, error) {
	w, err := c.writeLong(c.longLines())
	if err != nil {
		return "", err
	}
	text, calls, err := w.all(c, w.answer)
	if err != nil {
		return "", err
	}
	result := fmt.Sprintf("%s, %d calls", w.share(text), calls) + invalid(text)
	if c.server.name != acptermName {
		return result, nil
	}
	if w, err = c.writeLong(c.longLines(), "-keep", "8388608"); err != nil {
		return "", err
	}
	if text, calls, err = w.all(c, w.answer); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s; with `-keep 8388608` %s, %d calls", result, w.share(text), calls) + invalid(text), nil
}

// splitCharacters writes characters byte by byte.
func splitCharacters(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	times := c.Of(20, 3)
	const line = `n=0; while [ $n -lt %d ]; do printf '\303'; sleep 0.05; printf '\251'; sleep 0.05; n=$((n+1)); done`
	a, err := r.run(c, c.marked(fmt.Sprintf(line, times)))
	if err != nil {
		return "", err
	}
	text, _, err := r.all(c, a)
	if err != nil {
		return "", err
	}
	if whole := strings.Count(text, "é"); whole < times {
		return fmt.Sprintf("%d for %d characters", strings.Count(text, "\uFFFD"), times-whole), nil
	}
	return "0", nil
}

// toolList measures what a model gets of the list in every session.
func toolList(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	list, err := r.session.ListTools(c, nil)
	if err != nil {
		return "", err
	}
	size := 0
	for _, tool := range list.Tools {
		shown, err := json.Marshal(map[string]any{
			"name": tool.Name, "description": tool.Description, "inputSchema": tool.InputSchema,
		})
		if err != nil {
			return "", err
		}
		size += len(shown)
	}
	return fmt.Sprintf("%d for %d tools", (size+3)/4, len(list.Tools)), nil
}

func longLog(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	a, err := r.run(c, c.marked(self("log", c.Of(5000, 500))))
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d", (a.model+3)/4)
	for _, line := range []struct{ name, text string }{{"first", logFirst}, {"last", logLast}} {
		if !strings.Contains(a.text, line.text) {
			text += fmt.Sprintf(", without the %s line", line.name)
		}
	}
	if strings.Contains(a.text, "\x1b") {
		text += ", with escape sequences"
	}
	return text, nil
}
