package acpsdk_test

// NewReader changes nothing but limits, regardless of how its input is split.

import (
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/acpterm/acpterm/acpsdk"
	"github.com/stretchr/testify/require"
)

const above = `"outputByteLimit":18446744073709551615`

func TestReaderChangesNothingElse(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                "",
		"empty lines":            "\n\n\r\n",
		"no end of line":         `{"method":"terminal/create"`,
		"not JSON":               above + "\n",
		"not a message":          "[{" + above + "}]\n{" + above + "}\nnull\n",
		"params not an object":   `{"method":"terminal/create","params":[{` + above + "}]}\n",
		"another method":         `{"method":"_terminal/create","params":{` + above + "}}\n",
		"a nested field":         `{"method":"terminal/create","params":{"_meta":{` + above + "}}}\n",
		"a limit within int":     ` { "params":{ "outputByteLimit": 2147483647 },"method":"terminal/create" } ` + "\n",
		"the end of a long line": strings.Repeat("x", 11<<20) + `{"method":"terminal/create","params":{` + above + "}}\n",
		"lines longer than the SDK reads": strings.Repeat("x", 11<<20) + above + "\n" +
			`{"method":"terminal/create","params":{` + above + `},"_":"` + strings.Repeat("x", 11<<20) + "\"}\n{}\n",
	} {
		t.Run(name, func(t *testing.T) {
			readers := map[string]io.Reader{"at once": strings.NewReader(text), "with its end": iotest.DataErrReader(strings.NewReader(text))}
			if len(text) < 1<<20 {
				readers["byte by byte"] = iotest.OneByteReader(strings.NewReader(text))
			}
			for how, from := range readers {
				got, err := io.ReadAll(acpsdk.NewReader(from))
				require.NoError(t, err, how)
				require.True(t, text == string(got), how)
			}
		})
	}
}

func TestReaderLowersTheLimit(t *testing.T) {
	long := strings.Repeat("<", 200<<10)
	line := func(limit string) string {
		return `{"id":-1.50,"jsonrpc":"2.0","method":"terminal/create","params":{"command":"` + long + `","outputByteLimit":` + limit + "}}\n"
	}
	text := "{}\n" + line("18446744073709551615") + "text\n"
	for how, from := range map[string]io.Reader{
		"at once":       strings.NewReader(text),
		"by halves":     iotest.HalfReader(strings.NewReader(text)),
		"with its end":  iotest.DataErrReader(strings.NewReader(text)),
		"with an error": io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrUnexpectedEOF)),
	} {
		got, err := io.ReadAll(acpsdk.NewReader(from))
		if how == "with an error" {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		} else {
			require.NoError(t, err, how)
		}
		require.Equal(t, "{}\n"+line(strconv.Itoa(math.MaxInt))+"text\n", string(got), how)
	}
}
