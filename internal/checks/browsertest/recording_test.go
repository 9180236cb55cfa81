package browsertest

// The picture of README.md that is made without a browser: an animated recording of examples/quickstart.

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recorded is a line of output and the time of its arrival.
type recorded struct {
	text string
	at   time.Duration
}

// record runs examples/quickstart.
func record(t *testing.T) (lines []recorded) {
	program := filepath.Join(t.TempDir(), "quickstart")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/acpterm/acpterm/examples/quickstart")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.CommandContext(t.Context(), program)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	begun := time.Now()
	for s := bufio.NewScanner(output); s.Scan(); {
		lines = append(lines, recorded{s.Text(), time.Since(begun)})
	}
	require.NoError(t, cmd.Wait())
	return lines
}

// animate returns an SVG in which the lines appear one after the other, at readable speed, again and again.
func animate(command string, lines []recorded) string {
	const width, lineHeight, pause = 820, 20, 700 * time.Millisecond
	var at []time.Duration
	for i, l := range lines {
		at = append(at, max(l.at, time.Duration(i+1)*pause))
	}
	total := at[len(at)-1] + 4*time.Second
	height := lineHeight*(len(lines)+1) + 24
	var b, style strings.Builder
	row := func(i int, class, text string) {
		fmt.Fprintf(&b, `<text class="%s" x="14" y="%d">`, class, 26+i*lineHeight)
		xml.EscapeText(&b, []byte(text))
		b.WriteString("</text>\n")
	}
	row(0, "typed", "$ "+command)
	for i, l := range lines {
		speaker, _, _ := strings.Cut(l.text, " ")
		row(i+1, fmt.Sprintf("%s l%d", speaker, i), l.text)
		shown := 100 * float64(at[i]) / float64(total)
		fmt.Fprintf(&style, "@keyframes k%d{0%%,%.2f%%{opacity:0}%.2f%%,100%%{opacity:1}}.l%d{animation:k%d %.1fs infinite}\n",
			i, shown, shown+0.01, i, i, total.Seconds())
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d0d7de;white-space:pre}
.agent{fill:#79c0ff}.typed{fill:#fff;font-weight:bold}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
%s</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
%s</svg>
`, width, height, width, height, style.String(), b.String())
}

func TestRecordingScreenshot(t *testing.T) {
	dir := screenshots(t)
	picture := animate("go run ./examples/quickstart", record(t))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "quickstart.svg"), []byte(picture), 0o644))
}
