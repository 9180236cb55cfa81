package doctest

// Commands in documents: the packages, tests, programs and flags that they name must exist.

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// buildFlags lists the flags of go's commands that documents need, and whether a value follows.
var buildFlags = map[string]bool{"race": false, "C": true, "tags": true, "all": false, "o": true, "c": false}

// checkCommand describes the problem with a command line of go or .ci, or returns "".
func checkCommand(command string) string {
	words := shellWords(command)
	for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return ""
	case strings.HasPrefix(words[0], ".ci/"):
		if _, err := os.Stat(filepath.FromSlash(words[0])); err != nil {
			return "there is no such script"
		}
		for _, word := range words[1:] {
			if name, isFlag := strings.CutPrefix(word, "-"); isFlag && flag.Lookup(name) == nil {
				return "there is no flag " + word
			}
		}
	case words[0] == "go" && len(words) > 1 && words[1] == "run":
		return checkRun(words[2:])
	case words[0] == "go" && len(words) > 1 && slices.Contains([]string{"test", "vet", "build"}, words[1]):
		return checkTest(words[2:])
	}
	return ""
}

// shellWords returns the words of a command line with simple quotes, up to a comment or an operator.
func shellWords(line string) (words []string) {
	for _, m := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllString(line, -1) {
		if strings.HasPrefix(m, "#") || strings.ContainsAny(m[:1], "|<>&;") {
			break
		}
		words = append(words, strings.Trim(m, `'"`))
	}
	return words
}

// checkRun checks the words after "go run": the package exists, and its source has each flag's name in quotes.
func checkRun(words []string) string {
	if len(words) == 0 {
		return "it names no package"
	}
	source, wrong := packageSource(words[0], "*.go")
	for _, word := range words[1:] {
		name, isFlag := strings.CutPrefix(word, "-")
		if word == "--" {
			break
		}
		if wrong == "" && isFlag && !strings.Contains(source, `"`+name+`"`) {
			wrong = "the program has no flag " + word
		}
	}
	return wrong
}

// checkTest checks the words after "go test", "go vet" or "go build": packages and flags exist, and each expression for
// names of tests matches one.
func checkTest(words []string) string {
	tests := ""
	var expressions []string
	for i := 0; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "-")
		name, value, hasValue := strings.Cut(name, "=")
		switch {
		case isFlag:
			takesValue, known := buildFlags[name]
			if f := flag.Lookup("test." + name); f != nil {
				b, isBool := f.Value.(interface{ IsBoolFlag() bool })
				takesValue, known = !isBool || !b.IsBoolFlag(), true
			}
			if !known {
				return "there is no flag " + words[i]
			}
			if takesValue && !hasValue && i+1 < len(words) {
				i++
				value = words[i]
			}
			if slices.Contains([]string{"run", "bench", "fuzz"}, name) && value != "^$" {
				expressions = append(expressions, value)
			}
		case words[i] != "work":
			source, wrong := packageSource(words[i], "*_test.go")
			if wrong != "" {
				return wrong
			}
			tests += source
		}
	}
	for _, expression := range expressions {
		name, _, _ := strings.Cut(expression, "/") // of a test, before those of its subtests
		re, err := regexp.Compile(name)
		if err != nil {
			return err.Error()
		}
		found := testDeclared.FindAllStringSubmatch(tests, -1)
		if !slices.ContainsFunc(found, func(m []string) bool { return re.MatchString(m[1]) }) {
			return "it matches no test: " + expression
		}
	}
	return ""
}

// packageSource returns the text of a package's files, given its path in the repository.
func packageSource(name, pattern string) (source, wrong string) {
	dir, all := strings.CutSuffix(name, "/...")
	if name != "." && !strings.HasPrefix(name, "./") {
		return "", "packages are named by their directory: " + name
	}
	if info, err := os.Stat(filepath.FromSlash(dir)); err != nil || !info.IsDir() {
		return "", "there is no package " + name
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(found) == 0 && !all {
		return "", "there is no Go in " + name
	}
	files, _ := filepath.Glob(filepath.Join(filepath.FromSlash(dir), pattern))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		source += string(data)
	}
	return source, ""
}
