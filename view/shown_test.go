package view_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// The page shows the script of a shell, and quotes arguments as a shell understands them.
func TestCommandAsShown(t *testing.T) {
	t.Parallel()
	v := newViewer(t, made(t, acptermtest.Commands{
		"sh": acptermtest.Block, "/bin/bash": acptermtest.Block, "bash": acptermtest.Block, "python3": acptermtest.Block,
		"echo": acptermtest.Block,
	}, acpterm.Options{
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictDeny}
		}),
	}), view.Options{})
	tests := []struct {
		args     []string
		want, by string
	}{
		{[]string{"sh", "-c", "cd a && make 'b c'"}, "cd a && make 'b c'", "sh -c"},
		{[]string{"/bin/bash", "-lc", "make"}, "make", "bash -lc"},
		{[]string{"bash", "-e", "-c", "make\nmake test"}, "make\nmake test", "bash -e -c"},
		{[]string{"sh", "-c", "echo $1", "sh", "x y"}, "sh -c 'echo $1' sh 'x y'", ""},
		{[]string{"bash", "-e", "script"}, "bash -e script", ""},
		{[]string{"sh", "-c", " "}, "sh -c ' '", ""},
		{[]string{"python3", "-c", "print(1)"}, "python3 -c 'print(1)'", ""},
		{[]string{"echo", "it's", "", "a\"b", "$x", "~", "é=日本", "--to=/a/b.c"}, `echo 'it'\''s' '' 'a"b' '$x' '~' é=日本 --to=/a/b.c`, ""},
		{[]string{"echo", "a\x1bb\u202e"}, `echo 'a\u{1b}b\u{202e}'`, ""},
	}
	for _, test := range tests {
		_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: test.args[0], Args: test.args[1:]}, nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
	}
	rows := make(map[string]tableRow)
	v.open("events", "").table(rows, func(map[string]tableRow) bool { return len(rows) == len(tests) })
	for _, test := range tests {
		row, found := rows[test.want]
		require.True(t, found, test.want)
		require.Equal(t, test.by, row.By)
	}
}
