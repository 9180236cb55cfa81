package main

// The client as a process, with the example agent. The test types, and reads what the client prints.

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/racetest"
)

// agent is the program of the example agent.
var agent string

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "stay": // a command of the agent
		fmt.Println("here", os.Getpid())
		time.Sleep(time.Hour)
	case len(os.Args) > 1 && os.Args[1] == "client":
		os.Args = os.Args[1:]
		main()
		return
	}
	racetest.MainWith(m, "../agent", &agent)
}

// user is the user of a client.
type user struct {
	*testing.T
	client  *exec.Cmd
	input   io.WriteCloser
	lines   *bufio.Scanner
	printed strings.Builder
}

// start starts a client with an agent.
func start(t *testing.T, agent ...string) *user {
	u := &user{T: t, client: exec.Command(os.Args[0], append([]string{"client"}, agent...)...)}
	u.client.Stderr = os.Stderr
	input, output := leaktest.StartPiped(t, u.client)
	u.input, u.lines = input, bufio.NewScanner(output)
	return u
}

// await reads until a line matches, and returns the last group of the match.
func (u *user) await(pattern string) string {
	u.Helper()
	for expr := regexp.MustCompile(pattern); u.lines.Scan(); {
		fmt.Fprintln(&u.printed, u.lines.Text())
		if match := expr.FindStringSubmatch(u.lines.Text()); match != nil {
			return match[len(match)-1]
		}
	}
	require.Fail(u, "it never printed this", "%s, but:\n%s", pattern, &u.printed)
	return ""
}

func (u *user) enter(line string) {
	_, err := fmt.Fprintln(u.input, line)
	require.NoError(u, err)
}

// leave ends the input, and requires that the client ends.
func (u *user) leave() {
	require.NoError(u, u.input.Close())
	u.await(`^\* The agent: exit code 0$`)
	require.NoError(u, u.client.Wait())
}

func TestAPromptAQuestionAndLiveOutput(t *testing.T) {
	u := start(t, agent)
	u.await(`^\* Type a prompt`)
	u.enter("go version")
	u.await(`^\? 1  allow once: "Run it"$`)
	u.await(`^\? Type a number`)
	u.enter("1")
	u.await(`^- go version$`)
	u.await(`^\[1\] go version go`) // without a second question
	u.await(`^\* \[1\] exit code 0$`)
	u.leave()
}

func TestTextTypedBeforeTheQuestionDoesNotAnswerIt(t *testing.T) {
	u := start(t, agent)
	u.enter("go version\n1\nyes\n3")
	u.await(`^\? Type a number`)
	u.enter("0")
	u.await(`^\? Type a number`)
	u.enter("2")
	u.await(`^> I was not allowed to run it\.$`)
	u.leave()
	require.NotContains(t, u.printed.String(), "[1]")
}

func TestAnAgentThatEnds(t *testing.T) {
	u := start(t, agent, "-no-such-flag")
	u.await(`^\* The agent: exit code 2$`)
	require.Error(t, u.client.Wait())
}
