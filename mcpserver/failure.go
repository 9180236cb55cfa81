package mcpserver

// Lines that compilers, test runners and other tools write about an error. A line missed, or found by mistake, only
// changes the choice of lines from long output.

import "strings"

// isFailure reports whether a line is about an error.
func isFailure(line string) bool {
	line = strings.TrimSuffix(line, "\n")
	hasColon := strings.IndexByte(line, ':') >= 0 // most lines have none, and are decided quickly
	if hasColon && isGoError(strings.TrimPrefix(line, "vet: ")) {
		return true
	}
	line = withoutPrefix(line)
	if line == "" {
		return false
	}
	for _, begin := range failureBegins[line[0]] {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	if strings.HasPrefix(line, "> Task ") {
		return strings.HasSuffix(line, " FAILED") // Gradle
	}
	if !hasColon {
		return false
	}
	head, _, _ := strings.Cut(line, ":")
	return isException(head) || containsAny(line, failureParts[:])
}

// failureBegins lists how lines about errors begin, by the first byte.
var failureBegins = [256][]string{
	'-': {"--- FAIL"}, // go test
	'E': {
		"ERROR ", "ERROR:", "ERR! ", "Error ", // docker, webpack
		"E   ", "Exception in thread", // pytest, Java
	},
	'F': {"FAIL\t", "FAIL:", "FAIL ", "FAILED ", "FAILURE:", "FATAL", "Fatal error"}, // go test, pytest, Gradle
	'T': {"Traceback (most recent call last)"},                                       // Python
	'U': {"Uncaught "},                                                               // Node.js
	'c': {"curl: ("},
	'e': {"error:", "error[", "error TS", "e: "}, // cargo, tsc, Kotlin
	'f': {"fatal:", "fatal error:"},              // git
	'n': {"npm ERR! ", "npm error "},
	'p': {"panic: ", "panic("},
	't': {"thread '"}, // Rust: panicked at
	'*': {"* What went wrong:"},
	'[': {"[ERROR]", "[error]"}, // Maven, sbt
}

// failureParts lists what lines about errors contain.
var failureParts = [...]string{
	": error:", ": fatal error:", ": undefined reference to ", ": *** ", // gcc, clang, make
	"): error ", " - error TS", ": error C", "  error  ", // tsc, C#, ESLint
	": command not found", ": not found", "Fatal error:", "Parse error:", "CMake Error",
}

// withoutPrefix returns a line without what tools write before each line: blanks, a step and a time (docker), a frame
// (Terraform).
func withoutPrefix(line string) string {
	line = strings.TrimLeft(line, " \t")
	if framed, found := strings.CutPrefix(line, "│"); found {
		line = strings.TrimLeft(framed, " \t")
	}
	if !strings.HasPrefix(line, "#") {
		return line
	}
	if step, rest, found := strings.Cut(line, " "); found && isNumber(step[1:]) {
		line = rest
		if time, rest, found := strings.Cut(line, " "); found && isNumber(time) {
			line = rest
		}
	}
	return line
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789.") == "" }

// isGoError reports whether a line begins with a position in a Go file, as in "x.go:12:3: undefined: y".
func isGoError(line string) bool {
	file, rest, found := strings.Cut(line, ".go:")
	if !found || file == "" || strings.ContainsAny(file, " \t:") {
		return false
	}
	number, _, found := strings.Cut(rest, ": ")
	return found && isNumber(strings.Replace(number, ":", ".", 1))
}

// isException reports whether a word names an exception, as before the colon in "pkg.ValueError: no".
func isException(word string) bool {
	name, isError := strings.CutSuffix(word, "Error")
	if !isError {
		name, isError = strings.CutSuffix(word, "Exception")
	}
	return isError && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

func containsAny(line string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}
