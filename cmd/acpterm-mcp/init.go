package main

// The command init, which adds this program to an agent's servers. It changes one entry of one file, and leaves a file
// alone whose format it does not understand.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/term"
)

const initUsage = `usage: acpterm-mcp init [-yes] AGENT

Adds acpterm-mcp to the servers of an agent: claude, codex, opencode, gemini, cursor or vscode. Call it in the
directory of your project. It shows the change of the agent's file, and asks. -yes adds the entry without asking, but
does not replace another one.
`

var errDeclined = errors.New("nothing was changed")

// initAgent adds the entry of an agent to its file.
func initAgent(arguments []string, in io.Reader, out io.Writer) error {
	yes := slices.Contains(arguments, "-yes") || slices.Contains(arguments, "--yes")
	names := slices.DeleteFunc(slices.Clone(arguments), func(a string) bool { return a == "-yes" || a == "--yes" })
	if len(names) == 1 && (names[0] == "-h" || names[0] == "--help") {
		fmt.Fprint(out, initUsage)
		return nil
	}
	if len(names) != 1 {
		return fmt.Errorf("%w: init needs the name of one agent (init -h)", errUsage)
	}
	agent, err := findAgent(names[0])
	if err != nil {
		return fmt.Errorf("%w: init: %w", errUsage, err)
	}
	path, err := agent.file()
	if err != nil {
		return err
	}
	before, after, replaced, err := agent.change(path)
	if err != nil {
		return fmt.Errorf("%s is not changed: %w", path, err)
	}
	if bytes.Equal(before, after) {
		fmt.Fprintf(out, "%s has the entry already.\n", path)
		return nil
	}
	fmt.Fprintf(out, "%s:\n%s", path, changedLines(string(before), string(after)))
	switch {
	case yes && replaced:
		return fmt.Errorf("%w: there is an entry already, and -yes does not replace it", errDeclined)
	case !yes:
		if err := confirm(in, out); err != nil {
			return err
		}
	}
	if err := replaceFile(path, before, after); err != nil {
		return err
	}
	fmt.Fprintf(out, "Changed. Now %s.\n", agent.restarts)
	if !agent.elicits {
		fmt.Fprintf(out, "%s cannot ask you about a command, so all commands without a rule are denied: add "+
			"\"-allow\", \"RULE\" for others.\n", agent.title)
	}
	return nil
}

// change returns the content of an agent's file, and what it should be. replaced tells that there is another entry.
func (a agentKind) change(path string) (before, after []byte, replaced bool, err error) {
	before, err = os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false, err
	}
	command, err := ownCommand()
	if err != nil {
		return nil, nil, false, err
	}
	set, read := setJSON, dataOf
	if a.isTOML {
		set, read = setTOML, tomlData
	}
	after, err = set(before, a.path, a.entry(command, projectArgs(a.here)))
	if err != nil {
		return nil, nil, false, err
	}
	data, _ := read(before) // an empty file has none
	return before, after, valueAt(data, a.path) != nil, nil
}

// valueAt returns the value at a path in objects, or nil.
func valueAt(data any, path []string) any {
	for _, name := range path {
		object, _ := data.(map[string]any)
		data = object[name]
	}
	return data
}

// confirm asks whether to go on.
func confirm(in io.Reader, out io.Writer) error {
	if file, ok := in.(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return fmt.Errorf("%w: standard input is no terminal; -yes changes the file without asking", errDeclined)
	}
	fmt.Fprint(out, "Change the file? [y/N] ")
	answer, _ := bufio.NewReader(in).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errDeclined
	}
	return nil
}

// replaceFile replaces a file as a whole, unless it has changed since it was read. A link stays one.
func replaceFile(path string, before, after []byte) (err error) {
	mode := fs.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if _, missing := os.Lstat(path); missing == nil {
		return err // a link to a missing file
	}
	now, err := os.ReadFile(path)
	switch info, statErr := os.Stat(path); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case !bytes.Equal(now, before):
		return fmt.Errorf("%s has changed in the meantime: try again", path)
	case statErr == nil:
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	_, err = file.Write(after)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err = os.Chmod(file.Name(), mode); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// changedLines shows the lines that differ, with some around them. The change is in one place.
func changedLines(before, after string) string {
	a, b := linesOf(before), linesOf(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var text strings.Builder
	show := func(mark string, lines []string) {
		for _, line := range lines {
			text.WriteString(strings.TrimRight(mark+" "+line, " \r\n") + "\n")
		}
	}
	show(" ", a[max(0, head-3):head])
	show("-", a[head:len(a)-tail])
	show("+", b[head:len(b)-tail])
	show(" ", b[len(b)-tail:min(len(b), len(b)-tail+3)])
	return text.String()
}

func linesOf(text string) []string { return slices.Collect(strings.Lines(text)) }

// onlyDiffer fails if two values differ outside of path, or if after does not have the entry there.
func onlyDiffer(before, after any, path []string, entry any) error {
	b, isObject := before.(map[string]any)
	a, isAlso := after.(map[string]any)
	if before == nil {
		b, isObject = nil, true
	}
	if !isObject || !isAlso {
		return errors.New("it is not made of objects")
	}
	for key, value := range b {
		if key != path[0] && !reflect.DeepEqual(value, a[key]) {
			return fmt.Errorf("the change would also affect %q", key)
		}
	}
	for key := range a {
		if _, there := b[key]; !there && key != path[0] {
			return fmt.Errorf("the change would also add %q", key)
		}
	}
	if len(path) > 1 {
		return onlyDiffer(b[path[0]], a[path[0]], path[1:], entry)
	}
	if !reflect.DeepEqual(a[path[0]], entry) {
		return errors.New("the change would write another entry")
	}
	return nil
}
