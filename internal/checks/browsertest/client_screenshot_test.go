package browsertest

// A screenshot of the page served by cmd/acpterm, for the README, with real commands of an agent.

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// project contains the files of the project in the screenshot.
var project = map[string]string{
	"go.mod": "module cart\n\ngo 1.26\n",
	"cart_test.go": `package cart

import "testing"

func TestTotal(t *testing.T) {
	for _, name := range []string{"empty", "one item", "with a voucher"} {
		t.Run(name, func(t *testing.T) { t.Log("looks good: ✓") })
	}
}

func TestCheckout(t *testing.T) { t.Log("paid") }
`,
}

func TestScreenshotOfTheClient(t *testing.T) {
	screenshots := os.Getenv("VIEW_SCREENSHOTS")
	if screenshots == "" {
		t.Skip("VIEW_SCREENSHOTS names no directory to write them to")
	}
	dir := filepath.Join(os.TempDir(), "cart")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, text := range project {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "github.com/acpterm/acpterm/cmd/acpterm", "github.com/acpterm/acpterm/examples/agent")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// The tests of a project, and then a server that the user stops.
	client := exec.Command(filepath.Join(bin, "acpterm"), "-view", "127.0.0.1:0", "-cwd", dir,
		"-prompt", "GOWORK=off go test -v -count=1 ./... && echo listening on :8080 && exec sleep 600", "--", filepath.Join(bin, "agent"))
	stderr, err := client.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, client.Start())
	t.Cleanup(func() {
		client.Process.Signal(os.Interrupt)
		client.Wait()
	})
	said, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://\S+`).FindString(said)

	p := startBrowser(t).open(t, url, look("light", 1280, 560, 1))
	p.until(`el.text.includes('listening')`)
	shoot(p, filepath.Join(screenshots, "view-client.png"))
	p.requireQuiet()
	p.run(chromedp.Navigate("about:blank"))
}
