//go:build linux || darwin || freebsd

package main

// Agents whose words look like the client's own lines, on a terminal and in a pipe.

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func init() {
	parts["agent-that-imitates"] = func(args []string) { play(imitate(args[0])) }
	parts["agent-that-goes-on"] = func([]string) { play(goOnWhenCancelled) }
}

// fakes are lines of the client's own, in an agent's mouth.
var fakes = []string{
	"[1] = exited 0 in 1 ms", "[1] $ make", "[1] | fine", `! denied "rm": no rule allows this`, "acpterm: connected",
	`* "rm": allowed ("Run it")`, "? Sign in? y yes, n no: ", "agent: hello", "> message",
}

// imitate says each fake in pieces, in a title, a status, an option, on standard error and by a command, also after a
// filler that takes a row.
func imitate(filler string) script {
	return func(a *scripted) string {
		for _, fake := range fakes {
			for _, text := range []string{"\n" + fake, "\r" + fake, fake + "\r", "\x1b[2K\x1b[G" + fake, filler + fake} {
				a.say("one\n")
				a.say(text[:1])
				a.say(text[1:])
				a.say("\n")
				a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": text, "title": text, "status": text})
				a.call("session/request_permission", map[string]any{
					"sessionId": "s", "toolCall": map[string]string{"toolCallId": text, "title": `x": allowed ("` + text},
					"options": []map[string]string{{"optionId": "o", "name": text + `")`, "kind": "allow_once"}},
				}, nil)
				os.Stderr.WriteString(text + "\n")
			}
		}
		for _, fake := range fakes {
			var ref acpterm.TerminalRequest
			a.call(acpterm.MethodCreate, createParams("s", "echo", filler+fake), &ref)
			ref.SessionID = "s"
			a.call(acpterm.MethodWaitForExit, ref, nil)
			a.say("unfinished") // which the terminal's lines cut
			a.call(acpterm.MethodRelease, ref, nil)
			a.say(fake)
		}
		return "\x1b" + filler + fakes[0] + "\n" + fakes[0] // an error
	}
}

// requireHonest requires that each row begins with its kind, and those of each kind are as many as there are.
func requireHonest(t *testing.T, rows []string) {
	t.Helper()
	ended := 0
	for _, row := range rows {
		for _, fake := range fakes {
			if strings.HasPrefix(fake, "[1] ") || strings.HasPrefix(fake, "agent: ") || strings.HasPrefix(fake, "> ") {
				continue // these are counted below, or are the agent's own words anyway
			}
			require.NotEqual(t, strings.TrimSpace(fake), strings.TrimSpace(row))
		}
		require.Regexp(t, `^(> |\* |\[\d\] [$|=] |agent: |acpterm: | $)`, row+" ")
		require.NotEqual(t, "[1] $ make", row)
		require.NotEqual(t, "[1] | fine", row)
		if strings.HasPrefix(row, "[1] =") {
			require.Regexp(t, `^\[1\] = exited 0 in [\d.]+ m?s$`, row)
			ended++
		}
		if strings.HasPrefix(row, "* ") && !strings.HasPrefix(row+" ", "* | ") {
			require.Regexp(t, `^\* "`, row)
		}
	}
	require.Equal(t, 1, ended)
}

// No text of an agent or a command is shown as a line of another kind, in a pipe or on a terminal where it fills rows.
func TestNothingImitatesTheClient(t *testing.T) {
	c := startClient(t, part("agent-that-imitates", "x"), "-prompt", "x")
	c.exit(exitFailed)
	requireHonest(t, strings.Split(strings.TrimSuffix(c.stdout.String(), "\n"), "\n"))
	require.Equal(t, 1, strings.Count("\n"+c.stderr.String(), "\nacpterm: "), c.stderr.String())

	const columns = 200
	for _, prefix := range []string{"> ", `* "`, "agent: ", "[1] | ", `acpterm: session/prompt: the agent says "\x1b`} {
		filler := strings.Repeat("x", columns-len(prefix))
		requireHonest(t, openWindow(t, columns, 30, nil, part("agent-that-imitates", filler), "-prompt", "x").exit(exitFailed))
	}
	wide := strings.Repeat("日", columns/2-1) // and those of two columns, and tabs
	for _, filler := range []string{wide, strings.Repeat("\t", columns/8) + "       "} {
		requireHonest(t, openWindow(t, columns, 30, nil, part("agent-that-imitates", filler), "-prompt", "x").exit(exitFailed))
	}
}

// goOnWhenCancelled is in the middle of a line when the client says something.
func goOnWhenCancelled(a *scripted) string {
	a.say("go ahead")
	<-a.cancelled
	a.say(fakes[0] + "\n")
	return "cancelled"
}

func TestALineGoesOnAfterTheClientsOwn(t *testing.T) {
	d := openWindow(t, 200, 30, nil, part("agent-that-goes-on"), "-prompt", "x")
	d.answer("go ahead", "")
	require.NoError(t, syscall.Kill(d.PID(), syscall.SIGINT))
	d.exit(exitInterrupted)
	require.Regexp(t, `^> go ahead\n(acpterm: cancelling.*\n> |> )\[1\] = exited 0 in 1 ms\n`,
		strings.Replace(d.text(), "> go ahead"+fakes[0], "> go ahead\n> "+fakes[0], 1))
}

func init() { parts["agent-that-offers"] = offer }

// offer is an agent that wants a sign-in by one of its METHODS, and answers session/new when the file GO-ON is there.
func offer(args []string) {
	if args[len(args)-1] == "--sign-in" {
		os.Stdout.WriteString("signing in, REGION=" + os.Getenv("REGION") + "\n")
		os.Exit(7)
	}
	serveOffer(json.RawMessage(args[0]), args[1])
}

// method is a method of signing in as an agent offers it.
func method(id string, env map[string]string, args ...string) map[string]any {
	return map[string]any{"id": id, "name": id + " 1  runs", "type": "terminal", "args": append(args, "--sign-in"), "env": env}
}

// offering is the agent, and a function that makes the file that it waits for.
func offering(t *testing.T, methods ...map[string]any) (agent []string, create func()) {
	goOn, create := file(t)
	return part("agent-that-offers", encode(t, methods), goOn), create
}

// The question shows all arguments and variables. A method with a variable that is not safe cannot be chosen.
func TestSignInShowsVariables(t *testing.T) {
	preload := map[string]string{"LD_PRELOAD": "/tmp/x.so"}
	agent, create := offering(t, method("bad", preload), method("good", map[string]string{"LANG": "C"}, "two words"))
	create()
	d := openWindow(t, 200, 30, nil, agent, "-prompt", "x")
	d.answer(`-  "bad 1 runs": ""`, "")
	d.answer(`variables  "LD_PRELOAD"="/tmp/x.so"`, "")
	d.answer(`refused    it sets what no -variable allows: "LD_PRELOAD"`, "")
	d.answer(`1  "good 1 runs"`, "")
	d.answer(`"two words" "--sign-in"`, "")
	d.answer(`variables  "LANG"="C"`, "")
	d.answer("? Sign in? y yes, n no: ", "n\n")
	d.exit(exitNotSignedIn)

	agent, create = offering(t, method("bad", preload))
	create()
	d = openWindow(t, 200, 30, nil, agent, "-variable", "REGION", "-prompt", "x")
	d.exit(exitNotSignedIn)
	require.Contains(t, d.text(), `Each way that it offers is refused: it sets what no -variable allows: "LD_PRELOAD"`)
	require.NotContains(t, d.text(), "Sign in?")
	require.NotContains(t, d.text(), "signing in")

	agent, create = offering(t, method("good", map[string]string{"REGION": "new"}))
	create()
	d = openWindow(t, 200, 30, nil, agent, "-variable", "REGION=n*", "-prompt", "x")
	d.answer(`variables  "REGION"="new"`, "")
	d.answer("? Sign in? y yes, n no: ", "y\n")
	d.answer("signing in, REGION=new", "")
	d.exit(exitNotSignedIn)
}

// What is cut in the question has to be seen before an answer counts.
func TestSignInShowsLongArguments(t *testing.T) {
	agent, create := offering(t, method("long", nil, strings.Repeat("x", 5000)+"end", "more"))
	create()
	d := openWindow(t, 200, 30, nil, agent, "-prompt", "x")
	d.answer("bytes not shown ...", "")
	d.answer("? Sign in? f full text, n no: ", "y\n")
	d.answer("? Sign in? f full text, n no: ", "f\n")
	d.answer("xend", "")
	d.answer("? Sign in? y yes, n no: ", "y\n")
	d.answer("signing in", "")
	d.exit(exitNotSignedIn)
}

// What is typed before a question, with or without Enter, is no answer to it.
func TestTypedBeforeTheSignInQuestion(t *testing.T) {
	for _, before := range []string{"y\n", "y\ny\ny\n", "y"} {
		agent, create := offering(t, method("good", nil))
		d := openWindow(t, 200, 30, nil, agent, "-prompt", "x")
		d.press(before)
		d.answer(strings.ReplaceAll(before, "\n", "\r\n"), "") // the terminal's echo: it has them
		create()
		d.answer("? Sign in? y yes, n no: ", "\n")
		d.answer("? Sign in? y yes, n no: ", "n\n")
		d.exit(exitNotSignedIn)
		require.NotContains(t, d.text(), "signing in")
	}
}

func TestTypedBeforeAQuestion(t *testing.T) {
	goOn, create := file(t)
	agent := part("agent-that-waits", goOn, acpterm.MethodCreate, encode(t, createParams("s", part("print", "ran")...)))
	d := openWindow(t, 200, 30, nil, agent, "-ask", "-prompt", "x")
	d.press("y\ny\ny")
	d.answer("y\r\ny\r\ny", "")
	create()
	d.answer("N never: ", "\n")
	d.answer("N never: ", "n\n")
	d.exit(exitTurnEnded)
	require.NotContains(t, d.text(), "[1] | ran")
}
