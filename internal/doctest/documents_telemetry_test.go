package doctest

// Names of attributes, events and instruments: documents have exactly those of module otel.

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

// telemetryName matches such a name in a document. The package's own names in documents begin with capitals.
var telemetryName = regexp.MustCompile(`^acpterm(\.[a-z_]+)+$`)

func TestDocumentTelemetry(t *testing.T) {
	pages.AtRoot(t)
	literals := regexp.MustCompile(`"(acpterm\.[a-z_.]+)"`)
	var made, documented []string
	files, err := filepath.Glob("otel/*.go")
	require.NoError(t, err)
	for _, file := range files {
		lines, err := pages.ReadLines(file)
		require.NoError(t, err)
		for _, literal := range literals.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			if !strings.HasSuffix(file, "_test.go") {
				made = append(made, literal[1])
			}
		}
	}
	for _, doc := range pages.Documents(t) {
		for _, l := range doc.Prose {
			for _, span := range codeSpan.FindAllString(l.Text, -1) {
				if name := strings.Trim(span, "`"); telemetryName.MatchString(name) {
					documented = append(documented, name)
				}
			}
		}
	}
	slices.Sort(made)
	slices.Sort(documented)
	require.NotEmpty(t, made)
	require.Equal(t, slices.Compact(made), slices.Compact(documented))
}
