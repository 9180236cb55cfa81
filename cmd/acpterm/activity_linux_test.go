package main

// What the client says about the processes of a command.

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() {
	parts["listen"] = listen
	parts["ask"] = ask
}

// listen listens on a port of loopback until it has a connection.
func listen([]string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	listener.Accept()
}

// ask reads its input until a file is there.
func ask(file []string) {
	go os.Stdin.Read(make([]byte, 1))
	awaitFile(file[0])
}

// The address of a server is printed once, as a link that leads there.
func TestListens(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-prompt", line("listen"))
	link := c.stdout.await(t, `(?m)^\[1\] ! listens on (http://localhost:\d+)$`)
	connection, err := net.Dial("tcp", strings.TrimPrefix(link, "http://"))
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	c.exit(0)
	require.Equal(t, 1, strings.Count(c.stdout.String(), "listens on"), c.stdout)
}

// The address of a server elsewhere is no link, which would lead to the user's machine.
func TestListensElsewhere(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-runner", farShell(realDir(t), binaries()), "-prompt", line("listen"))
	address := c.stdout.await(t, `(?m)^\[1\] ! listens on (127\.0\.0\.1:\d+)$`)
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	c.exit(0)
}

// The row of a command says that it waits for input.
func TestRowOfACommandThatWaits(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	w := openWindow(t, 120, 12, nil, exampleAgent(), "-pty", "-prompt", line("ask", goOn))
	w.await(`(?m)^\[1\] .* waits for input ` + passed + `$`)
	create()
	for _, row := range w.exit(exitTurnEnded) {
		require.NotContains(t, row, "waits for input")
	}
}

// The row of a silent command says that it is idle.
func TestRowOfAnIdleCommand(t *testing.T) {
	t.Parallel()
	w := openWindow(t, 120, 12, nil, exampleAgent(), "-prompt", line("listen"))
	w.await(`(?m)^\[1\] .* idle ` + passed + `$`)
	link := ""
	w.until(func() bool {
		link = regexp.MustCompile(`localhost:\d+`).FindString(w.emulator.String())
		return link != ""
	}, "a link")
	connection, err := net.Dial("tcp", link)
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	for _, row := range w.exit(exitTurnEnded) {
		require.NotContains(t, row, " idle ")
	}
}
