package browsertest

// The pictures of README.md that are made without a browser: an animated recording of examples/quickstart, and badges.

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// The recording shows the output of the program of today. VIEW_SCREENSHOTS=screenshots makes it again.
func TestRecordingScreenshot(t *testing.T) {
	lines := record(t)
	picture := animate("go run ./examples/quickstart", lines)
	const name = "screenshots/quickstart.svg"
	if dir := os.Getenv("VIEW_SCREENSHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "quickstart.svg"), []byte(picture), 0o644))
	}
	committed, err := os.ReadFile(name)
	require.NoError(t, err)
	text := func(svg string) (lines []string) {
		version := regexp.MustCompile(`go version \S+ \S+|wrote \d+ bytes`)
		for _, m := range regexp.MustCompile(`(?m)^<text[^>]*>(.*)</text>$`).FindAllStringSubmatch(svg, -1) {
			lines = append(lines, version.ReplaceAllString(m[1], "…"))
		}
		return lines
	}
	require.Equal(t, text(picture), text(string(committed)), "VIEW_SCREENSHOTS=screenshots makes %s again", name)
}

// badge returns an SVG with a label and a value.
func badge(label, value string) string {
	const char, pad, height = 7, 8, 20
	left, right := len(label)*char+2*pad, len(value)*char+2*pad
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" aria-label="%s: %s">
<rect width="%d" height="%d" rx="3" fill="#444c56"/><path d="M%d 0h%da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-%dz" fill="#1f6feb"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="%d" y="14" textLength="%d">%s</text><text x="%d" y="14" textLength="%d">%s</text></g></svg>
`, left+right, height, label, value, left+right, height, left, right-3, right-3,
		left/2, len(label)*char, label, left+right/2, len(value)*char, value)
}

// The badges say what go.mod, LICENSE and docs/platforms.md say. VIEW_SCREENSHOTS=screenshots makes them again.
func TestBadgesScreenshot(t *testing.T) {
	find := func(file, expression string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
		require.NoError(t, err)
		found := regexp.MustCompile(expression).FindSubmatch(text)
		require.NotNil(t, found, "%s in %s", expression, file)
		return string(found[1])
	}
	require.Contains(t, find("LICENSE", `(?s)(Apache License\s+Version 2\.0)`), "Apache")
	for name, picture := range map[string]string{
		"go.svg":      badge("Go", find("go.mod", `(?m)^go (\d+\.\d+)`)),
		"license.svg": badge("license", "Apache-2.0"),
		"acp.svg":     badge("ACP", "v"+find("README.md", `ACP v(\d+)\. v2, a preview`)),
		"linux.svg":   badge("tested on Linux", find("docs/platforms.md", `\| Linux, kernel ([\d.]+), amd64 \| every change`)),
	} {
		if dir := os.Getenv("VIEW_SCREENSHOTS"); dir != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(picture), 0o644))
		}
		committed, err := os.ReadFile(filepath.Join("screenshots", name))
		require.NoError(t, err)
		require.Equal(t, picture, string(committed), "VIEW_SCREENSHOTS=screenshots makes %s again", name)
	}
}
