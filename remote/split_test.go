package remote

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplit(t *testing.T) {
	for line, args := range map[string][]string{
		`ssh host`:                      {"ssh", "host"},
		" ssh\t-p 22  'my host'\r\n":    {"ssh", "-p", "22", "my host"},
		`a"b c"'d e'f`:                  {"ab cd ef"},
		`'' ""`:                         {"", ""},
		`a\ b \"c\' \\`:                 {"a b", `"c'`, `\`},
		`"a\"b\\c\d" 'a\b'`:             {`a"b\c\d`, `a\b`},
		`C:\Windows\wsl.exe --exec sh`:  {`C:\Windows\wsl.exe`, "--exec", "sh"},
		`"C:\Program Files\x.exe"`:      {`C:\Program Files\x.exe`},
		`a\`:                            {`a\`},
		`ü '€ "'`:                       {"ü", `€ "`},
		`kubectl exec -i $POD -- sh; x`: {"kubectl", "exec", "-i", "$POD", "--", "sh;", "x"},
	} {
		got, err := Split(line)
		require.NoError(t, err, line)
		require.Equal(t, args, got, line)
	}
	for _, line := range []string{"", " \t", `a "b`, `'`} {
		_, err := Split(line)
		require.Error(t, err, line)
	}
}
