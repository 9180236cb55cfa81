//go:build unix

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// setsOf returns a manager with sets of rules and all of their programs, which only print. It returns an error with
// ErrDenied for a command that is not allowed.
func setsOf(t *testing.T, names ...string) (create func(line string) error) {
	t.Helper()
	r := new(rules)
	programs := strings.Fields("sh awk perl tee xargs env tar dd make curl uvx busybox rm")
	for _, name := range names {
		require.NoError(t, r.read(name))
	}
	for _, set := range r.sets {
		for _, c := range set.Commands {
			programs = append(programs, c.Programs...)
		}
	}
	t.Setenv("PATH", hosttest.Programs(t, programs...))
	decide, err := r.policy(false, nil)
	require.NoError(t, err)
	m := hosttest.NewManager(t, &acpterm.Options{Policy: decide, RequireSessions: true})
	root := t.TempDir()
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{root}}))
	return func(line string) error {
		request := acpterm.CreateTerminalRequest{SessionID: "s", Command: line, Cwd: root}
		terminal, err := m.Create(context.Background(), request, nil)
		if err == nil {
			<-terminal.Done()
			err = m.Release(context.Background(), "s", terminal.ID())
		}
		return err
	}
}

func TestExamplesOfTheSets(t *testing.T) {
	for _, name := range setNames() {
		set, err := readSet(name)
		require.NoError(t, err)
		require.NotEmpty(t, set.About)
		require.NotEmpty(t, set.Limits)
		for _, c := range set.Commands {
			require.NotEmpty(t, c.Reason, "%q", c.Match)
			require.NotEmpty(t, c.Match, "%q", c.Reason)
			require.Contains(t, []string{"", "local", "any"}, c.Operands)
			for _, line := range c.Match {
				words := strings.Fields(line)
				require.Contains(t, c.Programs, words[0])
				require.True(t, c.allows(words[1:], true), line)
				require.Equal(t, c.Any, c.allows(words[1:], false), line)
			}
			for _, line := range c.NoMatch { // not by any other command of the set either
				words := strings.Fields(line)
				for _, other := range set.Commands {
					require.False(t, contains(other.Programs, words[0]) && other.allows(words[1:], true), line)
				}
			}
		}
	}
}

func contains(all []string, one string) bool {
	return strings.Contains(" "+strings.Join(all, " ")+" ", " "+one+" ")
}

// Lines that write, run something else, or run code of another place.
func TestLinesThatTheSetsDoNotAllow(t *testing.T) {
	create := setsOf(t, setNames()...)
	for line := range strings.Lines(`git -c core.pager=./x log
git -c core.fsmonitor=./x status
git -c diff.external=./x diff
git -p log
git -C /elsewhere log
git --git-dir=/elsewhere/.git log
git --exec-path=. status
git diff --ext-diff
git diff --ext
git diff --textconv
git diff --output=f
git diff --out f
git log -p --output=f
git log --format='%G?'
git grep -O./x y
git grep --open-files-in-pager=./x y
git branch -D main
git tag v1
git push
git commit -m x
git config core.pager ./x
GIT_PAGER=./x git log
GIT_EXTERNAL_DIFF=./x git diff
cd /elsewhere && git status
cd /elsewhere && go test ./...
find . -name x -delete
find . -exec rm {} +
find . -execdir ./x {} \;
find . -ok rm {} \;
find . -fprintf f x
find . -fls f
sed -i s/a/b/ f
sed -n 'w f' g
sed 's/a/b/w f' g
sed '1e ./x' f
sed 's/a/./e' f
sed -n '/x/w f' g
sed -f script f
sed -n "$(cat script)" f
awk 'BEGIN { system("./x") }'
awk '{ print > "f" }' g
perl -e 1
rg --pre ./x y
rg --pre=./x y
rg --hostname-bin ./x y
rg -nz x
fd -x rm
fd -HX rm
tar -xf f --to-command=./x
tar cf f --checkpoint-action=exec=./x .
sort -o f g
sort -uof g
sort --outp=f g
sort --compress-program=./x f
uniq f g
tree -o f
tree -aR -L 1
file -C -m f
date -s 2020-01-01
env ./x
env rm f
ls | xargs rm
xargs -I{} rm {}
cat f | sh
cat f > g
cat < f
tee f
dd of=f
go run .
go test -exec ./x ./...
go test -toolexec=./x ./...
go test -c -o f .
go test -coverprofile f ./...
go test /elsewhere
go build -o f .
go build --toolexec ./x .
go build -ldflags=-extld=./x .
go vet -vettool=./x ./...
go env -w GOFLAGS=-toolexec=./x
go generate ./...
go install ./...
GOFLAGS=-toolexec=./x go build ./...
gofmt -w .
npm run deploy
npm install
npm test --script-shell=./x
npm run test -- --config=./x.js
npm exec x
npx tsc --noEmit
npx --no-install eslint . --fix
node x.js
node -e 1
node --import=./x.js --test
pytest -p plugin
pytest --pdb
pytest -xc f
pytest /elsewhere/x.py
pytest @f
pytest --basetemp=f
python -c 1
python x.py
python -m http.server
uv run x.py
uvx x
pip install x
ruff check --fix
black .
mypy --python-executable=./x .
cargo run
cargo build --config=build.rustc-wrapper=./x
cargo test --manifest-path=/elsewhere/Cargo.toml
cargo +nightly build
cargo clippy --fix
cargo fmt
cargo install x
./git status
/elsewhere/git status
make test
curl x
busybox rm f
eval 'git status'
git $x
sort $x
`) {
		require.ErrorIs(t, create(strings.TrimSuffix(line, "\n")), acpterm.ErrDenied, line)
	}
}

func TestLinesThatTheSetsAllow(t *testing.T) {
	create := setsOf(t, setNames()...)
	for line := range strings.Lines(`git status -sb && git --no-pager diff --stat HEAD~1 -- a
git log --oneline -20 | head -5
cat *.go | grep -n 'x y' | wc -l
cd sub; ls -la; cat f 2>/dev/null || true
find . -name '*.go' -not -path './x/*' -mtime -7 | sort -u | uniq -c
sed -n '10,20p' f; sed -n '/func a/,/^}/p' g
rg -n "x" --glob '*.go' | head; fd -e go
go build ./... && go vet ./... && go test -race -run 'TestA|TestB' -count=1 ./...
gofmt -l .
npm test; npm run build; pnpm run lint; npm test -- src/a.test.ts
pytest -q tests/test_a.py::test_b; python3 -m pytest -x; ruff check . && mypy src
cargo build --release && cargo test name -- --nocapture; cargo clippy -- -D warnings
`) {
		require.NoError(t, create(strings.TrimSuffix(line, "\n")), line)
	}
}

// A set adds only what no rule of the user matches.
func TestRulesComeBeforeSets(t *testing.T) {
	root := t.TempDir()
	s, _ := connectTo(t, nil, "-root", root, "-others", "deny", "-rules", "read-only", "-deny", "cat secret",
		"-allow", "tee", "-ask", "wc -l")
	for line, allowed := range map[string]bool{
		"echo x | cat": true, "cat secret": false, "seq 3 | tee": true, "seq 3 | wc": true, "seq 3 | wc -l": false,
		"seq 3 | sort -o f": false,
	} {
		text, ok := runLine(t, s, line)
		require.Equal(t, allowed, ok, "%s: %s", line, text)
	}
	require.Contains(t, s.InitializeResult().Instructions, "sed (with a script such as 10,20p or /a/,/b/d)")
	require.NoFileExists(t, filepath.Join(root, "f"))
}

// On a PTY, an allowed program may start a pager, in which one can type commands.
func TestPagersAreOff(t *testing.T) {
	t.Setenv("PAGER", "less")
	s, _ := connectTo(t, nil, "-root", t.TempDir(), "-others", "allow")
	text, _ := runLine(t, s, "echo $PAGER $GIT_PAGER $MANPAGER $LESSSECURE")
	require.Contains(t, text, "cat cat cat 1\n")
}
