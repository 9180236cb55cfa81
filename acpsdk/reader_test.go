package acpsdk_test

// What NewReader has no business with comes out as it went in, however it comes in.

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

// highest is the highest int.
var highest = strconv.Itoa(math.MaxInt)

func TestReaderPassesOn(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                            "",
		"empty lines":                        "\n\n\r\n",
		"no end of line":                     `{"method":"terminal/create"`,
		"no JSON":                            above + "\n",
		"no message":                         "[{" + above + "}]\n{" + above + "}\nnull\n",
		"params of no object":                `{"method":"terminal/create","params":[{` + above + "}]}\n",
		"another method":                     `{"method":"_terminal/create","params":{` + above + "}}\n",
		"a field deeper":                     `{"method":"terminal/create","params":{"_meta":{` + above + "}}}\n",
		"a limit that is good":               ` { "params":{ "outputByteLimit": 2147483647 },"method":"terminal/create" } ` + "\n",
		"the end of a line that it does not": strings.Repeat("x", 11<<20) + `{"method":"terminal/create","params":{` + above + "}}\n",
		"lines beyond what the SDK reads": strings.Repeat("x", 11<<20) + above + "\n" +
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
		require.Equal(t, "{}\n"+line(highest)+"text\n", string(got), how)
	}
}
