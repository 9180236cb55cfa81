package signin_test

// The test binary is also the scripted agent that the user signs in to, and the agent's child processes.

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/racetest"
)

// asAgent is the first argument that makes the test binary the scripted agent.
const asAgent = "acpterm-test-agent"

// password is the password that the scripted agent accepts.
const password = "open-sesame-7431"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asAgent {
		playAgent(os.Args[2:])
		os.Exit(0)
	}
	racetest.Main(m)
}

// agentCommand returns the command that starts the scripted agent, and a file that the agent creates when it runs. At
// the end of the test, neither its processes nor anything of a manager of Run may be left.
func agentCommand(t *testing.T) (cmd *exec.Cmd, ran string) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	acptermtest.NewManager(t, nil)
	t.Cleanup(func() { require.Empty(t, alive(cmd), "processes are left") })
	ran = filepath.Join(dir, "ran")
	cmd = exec.Command(self, asAgent, "--acp")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), markOf(cmd), "RAN="+ran, "REGION=of-the-agent", "KEPT=of-the-agent", "COLUMNS=7",
		"GORACE=atexit_sleep_ms=0") // otherwise each process lives a second longer
	return cmd, ran
}

// markOf returns a variable of all processes that an agent starts.
func markOf(agent *exec.Cmd) string { return "ACPTERM_TEST_DIR=" + agent.Dir }

// alive returns an agent's processes, where the system shows their environment.
func alive(agent *exec.Cmd) (found []string) { return leaktest.Processes(markOf(agent)) }

// playAgent runs the scripted agent. Without "--acp" it runs a child process of the agent, or the program of a
// LegacyCommand.
func playAgent(args []string) {
	if file := os.Getenv("RAN"); file != "" {
		os.WriteFile(file, nil, 0o600)
	}
	dir, _ := os.Getwd()
	fmt.Printf("args=%q dir=%s region=%s kept=%s term=%s columns=%q\n",
		args, filepath.Base(dir), os.Getenv("REGION"), os.Getenv("KEPT"), os.Getenv("TERM"), os.Getenv("COLUMNS"))
	fmt.Printf("terminals=%d\n", len(strings.Split(os.Getenv("ACPTERM_TERMINAL"), ":")))
	switch args[len(args)-1] {
	case "login":
		login()
	case "die":
		p, _ := os.FindProcess(os.Getpid())
		p.Signal(os.Kill)
		select {}
	case "detach":
		os.Remove(os.Getenv("RAN"))
		exec.Command("sh", "-c", `setsid "$0" "$@" </dev/null >/dev/null 2>&1 &`, os.Args[0], asAgent, "sleep").Run()
		for { // until it runs in its own session
			if _, err := os.Stat(os.Getenv("RAN")); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	case "wait":
		exec.Command(os.Args[0], asAgent, "sleep").Start()
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "sleep":
		time.Sleep(time.Hour)
	case "flood":
		os.Stdout.Write(bytes.Repeat([]byte("flood\n"), 20_000))
		fmt.Println("last")
	case "size":
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n')
		stty("size")
	}
}

// login asks for the password, without echo. It prints "bye" and fails if the input ends.
func login() {
	stty("-echo")
	fmt.Print("Password: ")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	stty("echo")
	switch {
	case err != nil:
		fmt.Println("bye")
		os.Exit(3)
	case strings.TrimSpace(line) != password:
		fmt.Println("wrong")
		os.Exit(7)
	}
	fmt.Println("welcome")
}

func stty(setting string) {
	cmd := exec.Command("stty", setting)
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	cmd.Run()
}
