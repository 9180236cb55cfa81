package mcpserver

// Keys by name, as the bytes that a terminal sends for them.

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// keystrokes returns the bytes that a terminal sends if a text is pasted and then keys are pressed. Line ends of the
// text are those of the key enter.
func keystrokes(text string, keys []string) (string, error) {
	typed := strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text)
	for _, name := range keys {
		key, ok := keystroke(name)
		if !ok {
			return "", fmt.Errorf("there is no key %q; the keys are single characters, enter, tab, esc, space, backspace, "+
				"delete, up, down, left, right, home, end, pageup, pagedown, f1 to f12, and those with ctrl-, alt- or "+
				"shift-tab", shorten(name, 64))
		}
		typed += key
	}
	return typed, nil
}

// piped returns the text to write to a pipe, with the keys that mean something there: enter ends a line, and ctrl-d the
// input.
func piped(text string, keys []string, end bool) (written string, closed bool, err error) {
	for _, name := range keys {
		key, _ := keystroke(name)
		switch {
		case end || key != "\r" && key != "\x04":
			return "", false, fmt.Errorf("the key %q needs a PTY; run the command again with pty", shorten(name, 64))
		case key == "\r":
			text += "\n"
		default:
			end = true
		}
	}
	return text, end, nil
}

// keystroke returns the bytes that a terminal sends for a key, such as "enter", "ctrl-c" or "q".
func keystroke(name string) (sent string, ok bool) {
	if utf8.RuneCountInString(name) == 1 {
		return name, utf8.ValidString(name)
	}
	name = strings.NewReplacer("+", "-", "_", "-", " ", "-").Replace(strings.ToLower(name))
	if rest, ok := strings.CutPrefix(name, "alt-"); ok {
		key, ok := keystroke(rest)
		return "\x1b" + key, ok
	}
	for _, prefix := range []string{"ctrl-", "control-", "c-", "^"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return control(rest)
		}
	}
	sent, ok = namedKeys()[name]
	return sent, ok
}

// control returns the control character of a key.
func control(key string) (sent string, ok bool) {
	switch {
	case key == "space":
		return "\x00", true
	case len(key) == 1 && (key[0] >= 'a' && key[0] <= 'z' || strings.Contains(`[\]^-`, key)):
		return string(rune(strings.ToUpper(strings.Replace(key, "-", "_", 1))[0] & 0x1f)), true
	}
	return "", false
}

func namedKeys() map[string]string {
	return map[string]string{
		"enter": "\r", "return": "\r", "tab": "\t", "shift-tab": "\x1b[Z", "esc": "\x1b", "escape": "\x1b", "space": " ",
		"backspace": "\x7f", "delete": "\x1b[3~", "insert": "\x1b[2~",
		"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
		"home": "\x1b[H", "end": "\x1b[F", "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "page-up": "\x1b[5~",
		"page-down": "\x1b[6~",
		"f1":        "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
		"f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
	}
}
