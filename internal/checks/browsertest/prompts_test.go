package browsertest

// Groups of the commands of a shell whose prompts have marks.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// headings is the list of the names of the headings in view.
const headings = `[...el.shadowRoot.querySelectorAll('.xterm .heading')].map(heading => heading.ariaLabel).join(' | ')`

// shells are interactive shells with marks, and their variables. They write "$ " as prompt.
func shells(t *testing.T) map[string][]string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(`
precmd() { printf '\e]133;D;%s\a' $? }
preexec() { printf '\e]133;C;\a' }
PROMPT=$'%{\e]133;A\a%}$ %{\e]133;B\a%}'
`), 0o600))
	return map[string][]string{
		"bash --noprofile --norc -i": {`PS0=\e]133;C\e\\`, `PROMPT_COMMAND=printf "\e]133;D;%s\a" $?`, `PS1=\[\e]133;A\a\]$ \[\e]133;B\a\]`},
		"zsh -i":                     {"ZDOTDIR=" + dir},
	}
}

// The commands of a shell on a PTY are groups: they have names and exit codes, fold, and stay with what follows.
func testPrompts(t *testing.T, b visitor) {
	for shell, variables := range shells(t) {
		args := strings.Fields(shell)
		if _, err := exec.LookPath(args[0]); err != nil && os.Getenv("ACPTERM_REQUIRE_SHELLS") == "" {
			continue
		}
		y := serveTyping(t, &view.Options{Input: true})
		request := acpterm.CreateTerminalRequest{SessionID: "s", Command: args[0], Args: args[1:]}
		for _, variable := range variables {
			name, value, _ := strings.Cut(variable, "=")
			request.Env = append(request.Env, acpterm.EnvVariable{Name: name, Value: value})
		}
		terminal, err := y.Create(t.Context(), request, &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Attended: true}})
		require.NoError(t, err)
		p := b.visit(t, y.only(terminal))
		p.until(`el.text.endsWith('$ ')`)
		enter := func(line, text string) {
			_, err := terminal.Write([]byte(line + "\r"))
			require.NoError(t, err)
			p.until(fmt.Sprintf(`el.text.endsWith(%q)`, text+"\n$ "))
		}
		enter("seq 3", "3")
		enter("cd /", "$ cd /")
		enter("echo bad; false", "bad")
		enter("seq 1 2", "2")
		p.until(headings + ` === 'seq 3 | echo bad; false, exit code 1 | seq 1 2'`)
		p.until(`[...el.shadowRoot.querySelectorAll('.xterm .label')].map(label => label.className.includes('bad') + label.textContent).join() === 'false▾,true▾ exit code 1,false▾'`)
		heading := func(name string) string {
			return fmt.Sprintf(`[...el.shadowRoot.querySelectorAll('.xterm .heading')].find(heading => heading.ariaLabel.startsWith(%q))`, name)
		}
		p.until(`(heading => heading && (heading.click(), true))(` + heading("seq 3") + `)`) // its button may be made again
		p.until(`el.text === '$ seq 3\n$ cd /\n$ echo bad; false\nbad\n$ seq 1 2\n1\n2\n$ ' && ` + heading("seq 3, 3 lines") + `?.ariaExpanded === 'false'`)
		eval[bool](p, catchCopies)
		eval[bool](p, `el.copy().then(() => true)`)
		p.until(`copied?.includes('$ seq 3\n1\n2\n3\n$ cd /\n')`) // with what is folded
		enter("seq 4 5", "5")
		eval[bool](p, `(part('.copy').click(), part('.fold-all').click(), true)`)
		p.until(`el.text === '$ seq 3\n$ cd /\n$ echo bad; false\n$ seq 1 2\n$ seq 4 5\n$ '`)
		enter("clear; seq 1", "1") // which erases the headings
		p.until(headings + ` === ''`)
		p.requireQuiet()
		p.end()
	}
}

// Marks of prompts are also found without a PTY, with other groups within them, and in pieces. Marks that are missing,
// repeated or not whole change nothing else.
func testPromptMarks(t *testing.T, b visitor) {
	prompt := func(line string) string { return "\x1b]133;A\x07$ \x1b]133;B\x07" + line + "\n\x1b]133;C\x07" }
	whole := prompt("go test") + "=== RUN   TestA\nfine\nerror: bad\n--- FAIL: TestA\nFAIL\n\x1b]133;D;1\x07" +
		prompt("true") + "\x1b]133;D;0\x07" + prompt("make") + "made\n"
	hostile := strings.Repeat("\x1b]133;A\x07\x1b]133;B\x07x\n\x1b]133;C\x07", 50_000) + strings.Repeat("\x1b]133;D;99999999999\x07\x1b]133;C\x07\x1b]133;", 50_000) +
		"\x1b]133;A;" + strings.Repeat("y", 2000) + "\x07end\n"
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{
		"steps": steps(texts), "hostile": acptermtest.Print(hostile, 0),
		"empty": acptermtest.Print(prompt("false")+"\x1b]133;D;1\x07"+prompt("make")+"made\n", 0),
		"lines": acptermtest.Print("\x1b]133;A\x07C:\\>\x1b]133;B\x07dir /b\na\nb\n\x1b]633;D\x07\x1b]133;A\x07C:\\>\x1b]133;B\x07\n", 0),
	}), nil)
	p := b.visit(t, v.only(v.create(t, "steps")))
	for _, text := range strings.SplitAfter(whole, "3") { // within marks
		texts <- text
	}
	p.until(headings + ` === 'go test, exit code 1, 5 lines | TestA, in go test, 3 lines | make'`)
	p.until(`el.text === '$ go test\n▾ === RUN   TestA\nfine\nerror: bad\n--- FAIL: TestA\nFAIL\n$ true\n$ make\nmade\n'`)
	onHeading(p, "go test", "heading.click()")
	p.until(`el.text === '$ go test\n$ true\n$ make\nmade\n' && part('.gutter').innerText.trim().split('\n').join() === '1,7,8,9'`)
	p.until(headings + `.startsWith('go test, exit code 1, error, 5 lines')`)
	close(texts)
	p.until(`part('.state').textContent === 'done'`)
	p.end()
	p = b.visit(t, v.only(v.create(t, "lines")))
	p.until(headings + ` === 'dir /b, 2 lines'`)
	p.end()
	p = b.visit(t, v.only(v.create(t, "empty"))) // there is nothing to fold
	p.until(`[...el.shadowRoot.querySelectorAll('.xterm .label')].map(label => label.textContent).join().startsWith('exit code 1,▾')`)
	p.end()
	p = b.visit(t, v.only(v.createLong(t, "hostile")))
	p.until(`el.row?.ended && el.text.endsWith('end\n')`)
	p.requireQuiet()
}
