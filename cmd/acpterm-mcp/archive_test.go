//go:build unix

package main

// Commands of earlier runs of the program, on the page.

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandsAreOnThePageAfterARestart(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "archive")
	flags := []string{"-root", root, "-others", "allow", "-archive", dir, "-view", "127.0.0.1:0"}
	t.Run("first", func(t *testing.T) { // which ends the program
		s, _ := connectTo(t, nil, flags...)
		text, ok := runLine(t, s, "echo first run; sleep 1000 & exit 3")
		require.True(t, ok, text)
	})

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0000000000000000001-00000000000000000000.acpterm"), data[:40], 0o600))
	s, messages := connectTo(t, nil, flags...)
	_, ok := runLine(t, s, "echo second run")
	require.True(t, ok)
	url := linkIn(t, messages)
	get := func(path string) string {
		response, err := http.Get(url + path)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, get(""), "echo first run; sleep 1000")
	require.Contains(t, get(""), "exit code 3")
	key := regexp.MustCompile(`"found":\[{"key":"(\S+?)","line":1,"text":"first run"`).FindStringSubmatch(get("search?text=FIRST+run"))
	require.NotNil(t, key)
	require.Equal(t, "first run\n", get("terminals/"+key[1]+"/text"))

	cmd := program("-root", root, "-archive", filepath.Join(root, "archive"))
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "-archive: archive: the directory cannot be used: ")
	require.Contains(t, string(out), "where commands may write")
}
