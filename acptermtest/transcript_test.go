package acptermtest_test

// What a transcript keeps, and when a file is not what it says.

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
)

// transcriptOf is what an agent has said, in pieces.
func transcriptOf(t *testing.T, pieces ...string) *acptermtest.Transcript {
	client, agent := net.Pipe()
	transcript := acptermtest.Record(client)
	go func() {
		for _, piece := range pieces {
			io.WriteString(agent, piece)
		}
		agent.Close()
	}()
	_, err := io.ReadAll(transcript)
	require.NoError(t, err)
	require.NoError(t, transcript.Close())
	return transcript
}

func TestTranscriptsLines(t *testing.T) {
	one, two := "term_01KAK6Q2VB0000000000000001", "term_01KAK6Q2VB0000000000000002"
	transcript := transcriptOf(t, `{"a":"`, one+`"}`, "\nlog /tmp/1 /tmp/1/x\n"+two+" ", one+"\n", "half of a line")
	transcript.Replace("/tmp/1", "/project")
	require.Equal(t, "agent: {\"a\":\"term_1\"}\nagent: log /project /project/x\nagent: term_2 term_1\n", transcript.String())
}

func TestGolden(t *testing.T) {
	ask := `{"id":1,"method":"m"}`
	for _, c := range []struct {
		name, file, difference string
	}{
		{"the same", "agent: " + ask + "\nagent: {\"id\":7,\"result\":1}\n", ""},
		{"with a carriage return", "agent: " + ask + "\r\nagent: {\"id\":7,\"result\":1}\r\n", ""},
		{"another line", "agent: {\"id\":2,\"method\":\"m\"}\nagent: {\"id\":7,\"result\":1}\n", "want agent: {\"id\":2,\"method\":\"m\"}\n got agent: " + ask},
		{"a line more", "agent: " + ask + "\nagent: {\"method\":\"n\"}\nagent: {\"id\":7,\"result\":1}\n",
			"want agent: {\"method\":\"n\"}\n got agent: {\"id\":7"},
		{"an answer less", "agent: " + ask + "\n", "want (the end)\n got agent: {\"id\":7"},
		{"a line less", "", "want \n got agent: " + ask},
		{"another side", "client: " + ask + "\nagent: {\"id\":7,\"result\":1}\n", "want client: " + ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "golden.txt")
			require.NoError(t, os.WriteFile(file, []byte(c.file), 0o666))
			complaints := &complaints{TB: t}
			transcriptOf(t, ask+"\n", `{"id":7,"result":1}`+"\n").Golden(complaints, file)
			if c.difference == "" {
				require.Empty(t, complaints.end())
			} else {
				require.Contains(t, complaints.end(), c.difference)
			}
		})
	}
}

// The order in which requests are answered does not count; their answers do.
func TestGoldenAnswers(t *testing.T) {
	asked, other := `{"id":1,"method":"a"}`+"\n", `{"id":"x","method":"b"}`+"\n"
	file := filepath.Join(t.TempDir(), "golden.txt")
	for _, c := range []struct {
		answers []string
		same    bool
	}{
		{[]string{`{"id":1,"result":1}`, `{"id":"x","result":2}`}, true},
		{[]string{`{"id":"x","result":2}`, `{"id":1,"result":1}`}, true},
		{[]string{`{"id":"x","result":1}`, `{"id":1,"result":2}`}, false},
		{[]string{`{"id":1,"result":1}`}, false},
		{[]string{`{"id":1,"result":1}`, `{"id":"x","result":2}`, `{"id":1,"result":1}`}, false},
		{[]string{`{"id":1,"result":1}`, `{"id":1,"result":1}`, `{"id":"x","result":2}`}, false},
		{[]string{`{"id":1,"result":1}`, `{"id":"x","result":2}`, `{"id":2,"result":1}`}, false},
		{[]string{`{"id":"1","result":1}`, `{"id":1,"result":1}`, `{"id":"x","result":2}`}, false},
		{[]string{`{"id":1,"result":1}`, `{"id":"x","result":2}`, `{"id":null,"error":{"code":-32700,"message":""}}`}, false},
	} {
		client, agent := net.Pipe()
		transcript := acptermtest.Record(client)
		go func() {
			io.WriteString(agent, asked+other)
			io.Copy(io.Discard, agent)
		}()
		_, err := io.ReadFull(transcript, make([]byte, len(asked+other)))
		require.NoError(t, err)
		for _, answer := range c.answers {
			fmt.Fprintln(transcript, answer)
		}
		require.NoError(t, transcript.Close())
		if _, err := os.Stat(file); err != nil { // the first writes it
			t.Setenv("ACPTERMTEST_UPDATE", "1")
			transcript.Golden(t, file)
			t.Setenv("ACPTERMTEST_UPDATE", "")
		}
		complaints := &complaints{TB: t}
		transcript.Golden(complaints, file)
		require.Equal(t, c.same, complaints.end() == "", c.answers)
	}
}

// The order in which several requests are answered does not show.
func TestAnswersInAnyOrder(t *testing.T) {
	answer := func(order ...string) string {
		client, agent := net.Pipe()
		transcript := acptermtest.Record(client)
		go func() {
			for _, id := range []string{"1", "2", "3"} {
				fmt.Fprintf(agent, `{"id":%s,"method":"a"}`+"\n", id)
			}
			io.Copy(io.Discard, agent)
		}()
		_, err := io.ReadFull(transcript, make([]byte, 3*len(`{"id":1,"method":"a"}`+"\n")))
		require.NoError(t, err)
		for _, id := range order {
			fmt.Fprintf(transcript, `{"id":%s,"result":{}}`+"\n", id)
		}
		require.NoError(t, transcript.Close())
		return transcript.String()
	}
	require.Equal(t, answer("1", "2", "3"), answer("3", "1", "2"))
	require.NotEqual(t, answer("1", "2", "3"), answer("3", "1"))
	require.NotEqual(t, answer("1", "2"), answer("1", "3"))
}
