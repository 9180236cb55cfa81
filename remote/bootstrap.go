package remote

// Turning a remote shell into the helper. The helper is copied there first if necessary.

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // for bootstrap.sh
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed bootstrap.sh
var bootstrapScript string

const (
	maxNoise  = 64 << 10 // bytes that a profile may print
	copyPiece = 64 << 10
	maxCopies = 2 // the script tries as many directories
)

// helperName is the prefix of the helpers' file names. The system and the architecture follow, as Go names them.
const helperName = "acpterm-remote"

// systems and machines map Go's names to the output of uname -s and uname -m.
func systems() map[string][]string {
	return map[string][]string{"linux": {"Linux"}, "darwin": {"Darwin"}, "freebsd": {"FreeBSD"}}
}

func machines() map[string][]string {
	return map[string][]string{"amd64": {"x86_64", "amd64"}, "arm64": {"aarch64", "arm64"}}
}

// goName returns Go's name for the output of uname. It returns unknown output unchanged, but made visible.
func goName(names map[string][]string, uname string) string {
	for name, unames := range names {
		if slices.Contains(unames, uname) {
			return name
		}
	}
	return visible(uname)
}

// bootstrap turns a remote shell into the helper.
type bootstrap struct {
	options Options
	shell   *stream
	in      *bufio.Reader
	// alive is called after each copied piece of the helper.
	alive func()

	first, second string // the two parts of the marker
}

// run returns when the helper has started.
func (b *bootstrap) run() error {
	b.first, b.second = rand.Text(), rand.Text()
	line, err := b.line()
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { // before it reads, the shell may print more than a pipe holds
		_, err := b.shell.Write([]byte(line))
		b.shell.scriptWritten()
		written <- err
	}()
	said, err := b.answer(maxNoise)
	if err != nil {
		return err
	}
	if err := <-written; err != nil {
		return err
	}
	for range maxCopies {
		system, machine, need := needed(said)
		if !need {
			break
		}
		if said, err = b.copy(system, machine); err != nil {
			return err
		}
	}
	if said != "run" {
		return farError(said)
	}
	return nil
}

// farError returns the error reported by the remote side.
func farError(said string) error {
	if text, ok := strings.CutPrefix(said, "error "); ok {
		return fmt.Errorf("the remote system cannot run the helper: %s", visible(text))
	}
	return fmt.Errorf("the remote system answered %q instead of running the helper", said)
}

// needed returns the system and the machine of a remote side that needs the helper.
func needed(said string) (system, machine string, ok bool) {
	rest, ok := strings.CutPrefix(said, "need ")
	system, machine, _ = strings.Cut(rest, " ")
	return system, machine, ok
}

// line returns the line for the shell: the script in single quotes.
func (b *bootstrap) line() (string, error) {
	var script strings.Builder
	for line := range strings.Lines(bootstrapScript) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			script.WriteString(line + " ")
		}
	}
	hashes, err := b.hashes()
	if err != nil {
		return "", err
	}
	mayCopy := "no"
	if b.options.Helpers != nil {
		mayCopy = "yes"
	}
	return "exec sh -c '" + strings.NewReplacer(
		"@FIRST@", b.first, "@SECOND@", b.second, "@PATH@", octal(b.options.Path), "@DIR@", octal(b.options.Dir),
		"@COPY@", mayCopy, "@HASHES@", hashes).Replace(script.String()) + "'\n", nil
}

// octal escapes text for printf's %b, in double quotes inside single quotes.
func octal(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/._-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\0%03o`, c)
		}
	}
	return b.String()
}

// hashes returns the branches of a case command, which map the output of uname to the hash of each helper.
func (b *bootstrap) hashes() (string, error) {
	var branches strings.Builder
	for system, unames := range systems() {
		for arch, machines := range machines() {
			_, hash, err := b.helper(system, arch)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return "", err
			}
			for _, uname := range unames {
				for _, machine := range machines {
					fmt.Fprintf(&branches, `"%s %s") hash=%s ;; `, uname, machine, hash)
				}
			}
		}
	}
	return branches.String(), nil
}

func (b *bootstrap) helper(system, arch string) (program []byte, hash string, err error) {
	if b.options.Helpers == nil {
		return nil, "", fs.ErrNotExist
	}
	program, err = fs.ReadFile(b.options.Helpers, helperName+"-"+system+"-"+arch)
	if err != nil {
		return nil, "", fmt.Errorf("reading Options.Helpers: %w", err)
	}
	sum := sha256.Sum256(program)
	return program, hex.EncodeToString(sum[:]), nil
}

// A NoHelperError is returned if there is no helper for the remote side in Options.Helpers or, if Helpers is nil, in
// the PATH of the remote shell.
type NoHelperError struct {
	// System and Arch identify the system that needs a helper. Each is a GOOS or GOARCH value if this package supports
	// it. Otherwise, it is the name reported by the remote side.
	System, Arch string

	uname  string // made visible, like System and Arch
	inPath bool   // PATH was searched
}

// Error returns a message that explains how to provide the helper.
func (e *NoHelperError) Error() string {
	if e.inPath {
		return fmt.Sprintf("the remote PATH has no program %s: "+
			"install the one for %s there, or set Options.Helpers", helperName, e.uname)
	}
	return fmt.Sprintf("there is no helper for %s: build %s-%s-%s (see Build) into Options.Helpers, "+
		"or install %[2]s on the remote system and set Options.Path",
		e.uname, helperName, e.System, e.Arch)
}

// copy sends the helper to the remote side and returns its answer.
func (b *bootstrap) copy(uname, machine string) (said string, err error) {
	p := Progress{
		Step: StepCopying, System: goName(systems(), uname), Arch: goName(machines(), machine),
	}
	program, hash, err := b.helper(p.System, p.Arch)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &NoHelperError{
			System: p.System, Arch: p.Arch, uname: visible(uname + " " + machine), inPath: b.options.Helpers == nil,
		}
	} else if err != nil {
		return "", err
	}
	p.Size = int64(len(program))
	_, err = fmt.Fprintf(b.shell, "%s %d\n", hash, len(program))
	for piece := range slices.Chunk(program, copyPiece) {
		if err != nil {
			break
		}
		b.options.Progress(p)
		_, err = b.shell.Write(piece)
		p.Copied += int64(len(piece))
		b.alive()
	}
	said, readErr := b.answer(maxNoise)
	if readErr != nil && err == nil {
		err = readErr
	} else if readErr == nil {
		err = nil // the answer says why it stopped reading
		b.options.Progress(p)
	}
	return said, err
}

// errPTY is the error for a connection through a terminal, which would change bytes.
var errPTY = errors.New("there is a terminal (PTY) in between, which changes bytes: " +
	"the command line must not ask for one (ssh -t, docker exec -t)")

// answer returns the next answer to the script.
func (b *bootstrap) answer(limit int) (string, error) {
	said, err := b.marked(limit)
	if err != nil {
		return "", err
	}
	b.shell.answered()
	if login, ok := strings.CutPrefix(said, "shell "); ok {
		if b.shell.late() {
			return "", lateShell(login)
		}
		said, err = b.marked(limit)
	}
	return said, err
}

// lateShell returns the error for a remote shell that ran the script only at the end of its input. login is its SHELL.
func lateShell(login string) error {
	if slices.Contains([]string{"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"}, path.Base(login)) {
		return errors.New("the remote shell was not ready before")
	}
	return fmt.Errorf("the login shell %s is no POSIX shell and reads all its input before it runs the first line: %s",
		visible(login), execSh)
}

// execSh is the advice for users whose login shell is not a POSIX shell.
const execSh = `add "exec sh" to the command line, as in "ssh host exec sh"`

// unanswered returns the error for a shell whose output has ended with err.
func (b *bootstrap) unanswered(said []byte, err error) error {
	switch text := tail(said); {
	case len(text) > 0:
		return fmt.Errorf("no remote shell answered, but the text %q: %w", text, err)
	case b.shell.late():
		const format = "no remote shell answered (if the login shell is no POSIX shell, but fish, for example, %s): %w"
		return fmt.Errorf(format, execSh, err)
	default:
		return fmt.Errorf("no remote shell answered: %w", err)
	}
}

// marked reads up to the next marker, skipping at most limit bytes, and returns the rest of the marker's line. It
// detects a terminal by the echo of the script, where the parts of the marker are separate, or by the carriage return
// at the end of the line.
func (b *bootstrap) marked(limit int) (string, error) {
	marker := []byte("\n" + b.first + b.second + " ")
	echo := fmt.Appendf(nil, `"%s" "%s"`, b.first, b.second)
	said := make([]byte, 0, 4<<10)
	for len(said) < limit {
		c, err := b.in.ReadByte()
		if err != nil {
			return "", b.unanswered(said, err)
		}
		said = append(said, c)
		if c == '"' && bytes.HasSuffix(said, echo) {
			return "", fmt.Errorf("the script comes back instead of being run: there is no shell, or %w", errPTY)
		}
		if c != ' ' || !bytes.HasSuffix(said, marker) {
			continue
		}
		line, err := b.in.ReadSlice('\n')
		if err != nil {
			return "", fmt.Errorf("the answer of the remote shell is incomplete: %w", err)
		}
		if bytes.HasSuffix(line, []byte("\r\n")) {
			return "", errPTY
		}
		return strings.TrimSuffix(string(line), "\n"), nil
	}
	return "", fmt.Errorf("no remote shell answered, but more than %d bytes of text, which end with %q",
		limit, tail(said))
}

// tail returns the end of the remote side's output.
func tail(said []byte) []byte { return bytes.TrimSpace(said[max(0, len(said)-1024):]) }
