package acptermtest_test

// Tests of the contents of a transcript, and of its comparison with a file.

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

// transcriptOf returns the transcript of an agent's output, written in pieces.
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
	transcript := transcriptOf(t, `{"a":"`, one+`"}`, "\nlog /tmp/1 /tmp/1/x\n"+two+" ", one+"\n", "an incomplete line")
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
			recorder := &failureRecorder{TB: t}
			transcriptOf(t, ask+"\n", `{"id":7,"result":1}`+"\n").Golden(recorder, file)
			if c.difference == "" {
				require.Empty(t, recorder.end())
			} else {
				require.Contains(t, recorder.end(), c.difference)
			}
		})
	}
}

// String and Golden ignore the order of answers, but not their contents.
func TestTranscriptsOfAnswers(t *testing.T) {
	const requests = `{"id":1,"method":"a"}` + "\n" + `{"id":"x","method":"b"}` + "\n"
	answered := func(answers ...string) *acptermtest.Transcript {
		client, agent := net.Pipe()
		transcript := acptermtest.Record(client)
		go func() {
			io.WriteString(agent, requests)
			io.Copy(io.Discard, agent)
		}()
		_, err := io.ReadFull(transcript, make([]byte, len(requests)))
		require.NoError(t, err)
		for _, answer := range answers {
			fmt.Fprintln(transcript, answer)
		}
		require.NoError(t, transcript.Close())
		return transcript
	}
	file := filepath.Join(t.TempDir(), "golden.txt")
	want := answered(`{"id":1,"result":1}`, `{"id":"x","result":2}`)
	t.Setenv("ACPTERMTEST_UPDATE", "1")
	want.Golden(t, file)
	t.Setenv("ACPTERMTEST_UPDATE", "")
	for _, c := range []struct {
		same    bool
		answers []string
	}{
		{true, []string{`{"id":1,"result":1}`, `{"id":"x","result":2}`}},
		{true, []string{`{"id":"x","result":2}`, `{"id":1,"result":1}`}},
		{false, []string{`{"id":"x","result":1}`, `{"id":1,"result":2}`}},
		{false, []string{`{"id":1,"result":1}`}},
		{false, []string{`{"id":1,"result":1}`, `{"id":"x","result":2}`, `{"id":1,"result":1}`}},
		{false, []string{`{"id":1,"result":1}`, `{"id":1,"result":1}`, `{"id":"x","result":2}`}},
		{false, []string{`{"id":1,"result":1}`, `{"id":"x","result":2}`, `{"id":2,"result":1}`}},
		{false, []string{`{"id":"1","result":1}`, `{"id":1,"result":1}`, `{"id":"x","result":2}`}},
		{false, []string{`{"id":1,"result":1}`, `{"id":"x","result":2}`, `{"id":null,"error":{"code":-32700,"message":""}}`}},
	} {
		got := answered(c.answers...)
		recorder := &failureRecorder{TB: t}
		got.Golden(recorder, file)
		require.Equal(t, c.same, recorder.end() == "", c.answers)
		require.Equal(t, c.same, got.String() == want.String(), c.answers)
	}
}
