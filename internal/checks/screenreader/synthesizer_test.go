package screenreader

// A speech synthesizer that only writes down what Orca has it say. It replaces Speech Dispatcher, and serves the part of
// its protocol that Orca uses: https://htmlpreview.github.io/?https://github.com/brailcom/speechd/blob/master/doc/ssip.html

import (
	"bufio"
	"fmt"
	"html"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// startSynthesizer listens at the path of a socket until the end of the test, and sends all that is to be said.
func startSynthesizer(t *testing.T, path string) <-chan string {
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	said := make(chan string, 100_000)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { synthesize(conn, said) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait() // until Orca is gone
	})
	return said
}

var tags = regexp.MustCompile(`<[^>]*>`) // of SSML

// synthesize serves a client. Each answer has a number, where the client expects that of a message, or a value.
func synthesize(conn net.Conn, said chan<- string) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		switch command, rest, _ := strings.Cut(lines.Text(), " "); command {
		case "SPEAK":
			fmt.Fprint(conn, "230 OK RECEIVING DATA\r\n")
			var text []string
			for lines.Scan() && lines.Text() != "." {
				text = append(text, strings.TrimPrefix(lines.Text(), "."))
			}
			said <- html.UnescapeString(tags.ReplaceAllString(strings.Join(text, " "), ""))
		case "CHAR", "KEY":
			said <- rest
		}
		fmt.Fprint(conn, "200-1\r\n200 OK\r\n")
	}
	if err := lines.Err(); err != nil {
		said <- "the synthesizer has lost its client: " + err.Error()
	}
}
