package main

// Changes of files in TOML, which keep everything else as it is: the table of the entry is replaced as text, or
// appended.

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// setTOML returns a file with the entry in the table of a path.
func setTOML(file []byte, path []string, entry any) ([]byte, error) {
	before, err := tomlData(file)
	if err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	wanted, err := asData(entry)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(valueAt(before, path), wanted) {
		return file, nil
	}
	var values bytes.Buffer
	if err := toml.NewEncoder(&values).Encode(entry); err != nil {
		return nil, err
	}
	header := "[" + strings.Join(path, ".") + "]"
	table := header + "\n" + values.String()
	edited, found := replaceTable(file, header, table)
	if !found {
		if inline := regexp.MustCompile(`(?m)^\s*["']?` + path[0] + `["']?\s*[.=]`); inline.Match(file) {
			// No table can be added to an inline one, although the decoder accepts that.
			return nil, fmt.Errorf("the entry cannot be added as a table; add this by hand:\n%s", table)
		}
		edited = bytes.TrimRight(file, "\n")
		if len(edited) > 0 {
			table = "\n\n" + table
		}
		edited = append(bytes.Clone(edited), table...)
	}
	after, err := tomlData(edited)
	if err != nil {
		return nil, fmt.Errorf("the entry cannot be added as a table; add this by hand:\n%s", table)
	}
	return edited, onlyDiffer(before, after, path, wanted)
}

// replaceTable replaces the lines from a header to the next one, but not the comments in front of that.
func replaceTable(file []byte, header, table string) (edited []byte, found bool) {
	lines := linesOf(string(file))
	from := -1
	for i, line := range lines {
		switch text := strings.TrimSpace(line); {
		case from < 0 && strings.Join(strings.Fields(text), "") == header:
			from = i
		case from >= 0 && strings.HasPrefix(text, "["):
			return join(lines, from, i, table), true
		}
	}
	if from < 0 {
		return nil, false
	}
	return join(lines, from, len(lines), table), true
}

// join replaces some lines. Empty lines and comments at their end stay.
func join(lines []string, from, to int, table string) []byte {
	for to > from+1 {
		if text := strings.TrimSpace(lines[to-1]); text != "" && text[0] != '#' {
			break
		}
		to--
	}
	return []byte(strings.Join(lines[:from], "") + table + strings.Join(lines[to:], ""))
}

// tomlData decodes TOML. The values are those of JSON.
func tomlData(file []byte) (any, error) {
	data := make(map[string]any)
	if _, err := toml.Decode(string(file), &data); err != nil {
		return nil, err
	}
	return asData(data)
}
