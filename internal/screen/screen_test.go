package screen_test

// The effect of each sequence on the text.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/screen"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// cutText returns a screen's text, and whether its beginning was truncated.
func cutText(s *screen.Screen) (text string, truncated bool) {
	text, start := s.Text()
	return text, start > 0
}

// textOf returns the text of a new screen after writing written to it.
func textOf(t testing.TB, columns, rows int, written string) string {
	s := screen.New(columns, rows, 1<<20, 0)
	s.Write([]byte(written))
	text, truncated := cutText(s)
	require.False(t, truncated)
	return text
}

// numbered returns the lines "1" to "n", each with a line end.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d\r\n", i+1)
	}
	return b.String()
}

func TestSequences(t *testing.T) {
	const eight = "abcdefgh\r\nABCDEFGH\r\n12345678" // after it, the cursor waits beyond the last column
	for _, test := range []struct{ what, written, text string }{
		{"nothing", "", ""},
		{"no line end", "a", "a"},
		{"line ends", "a\r\nb\r\n", "a\nb\n"},
		{"empty lines between", "\r\n\r\na\r\n\r\nb", "\n\na\n\nb"},
		{"empty lines at the end", "a\r\n\r\n\r\n", "a\n"},
		{"only empty lines", "\r\n\r\n", ""},
		{"blanks at the end", "a  \r\n  b \t\r\n   \r", "a\n  b\n"},
		{"blanks before the cursor", "a  \r\nPassword: ", "a\nPassword: "},
		{"blanks before the cursor, in a full row", "Name:   ", "Name:   "},
		{"blanks that erase", "50 % ok\r       \r", ""},
		{"blanks on both sides of the cursor", "a    \b\b", "a  "},
		{"blanks that the cursor passed over", "a\x1b[3C", "a"},
		{"LF alone", "a\nb", "a\n b"},
		{"VT, FF", "a\vb\fc", "a\n b\n  c"},
		{"CR", "abc\rX", "Xbc"},
		{"BS", "abc\b\bX\b\b\b\b\b\bY", "YXc"},
		{"other control characters", "a\x00\x01\a\x05\x7fb\x1d", "ab"},
		{"scrolled off", numbered(9), "1\n2\n3\n4\n5\n6\n7\n8\n9\n"},

		{"HT", "a\tb", "a      b"}, // column 8 is the last
		{"HT, then wrapped", "a\tbc", "a      bc"},
		{"HT in the last column", "abcdefg\tx", "abcdefg x"},
		{"HT after the last column", "abcdefgh\tx", "abcdefgh x"},
		{"HT over text", "abcdefgh\r\x1b[7C\tx", "abcdefgx"},
		{"HTS, TBC", "\x1b[3G\x1bH\r\tx\x1b[3g\r\ty", "  x    y"},
		{"TBC of one stop", "\x1b[3G\x1bH\x1b[5G\x1bH\x1b[3G\x1b[g\r\tx", "    x"},
		{"CHT, CBT", "\x1b[3G\x1bH\x1b[5G\x1bH\r\x1b[2Ix\x1b[Zy\x1b[2Zz", "  z y"},

		{"wraps, and is one line", "abcdefghijk\r\nl", "abcdefghijk\nl"},
		{"as long as the row", "abcdefgh\r\nx", "abcdefgh\nx"},
		{"as long as two rows", "abcdefghijklmnop\r\nx", "abcdefghijklmnop\nx"},
		{"a blank where it wraps", "abcdefg  x", "abcdefg  x"},
		{"many blanks", "a" + strings.Repeat(" ", 40) + "b", "a" + strings.Repeat(" ", 40) + "b"},
		{"many blanks at the end", "a" + strings.Repeat(" ", 40) + "\r\nb", "a\nb"},
		{"the next row is written anew", "abcdefghijk\rX", "abcdefgh\nXjk"},
		{"the next row is erased", "abcdefghijk\x1b[2K\rX", "abcdefgh\nX"},
		{"the next row is erased, and written further on", "abcdefghijk\x1b[2K\x1b[5GX", "abcdefgh\n    X"},
		{"the end of the row is erased", "abcdefghijk\x1b[A\x1b[KX", "abcX\nijk"},
		{"waits with the wrap", "abcdefgh\rX", "Xbcdefgh"},
		{"waits with the wrap, BS", "abcdefgh\bX", "abcdefXh"},
		{"EL after the last column", "abcdefgh\x1b[Ki", "abcdefghi"},
		{"no autowrap", "\x1b[?7labcdefghijk", "abcdefgk"},
		{"autowrap again", "\x1b[?7labcdefghijk\x1b[?7hlm", "abcdefglm"},

		{"CUP", "\x1b[2;3Hx\x1b[Hy\x1b[;2Hz\x1b[99;99Hw", "yz\n  x\n\n       w"},
		{"HVP", "\x1b[2;3fx", "\n  x"},
		{"CUU, CUD, CUF, CUB", "\x1b[BA\x1b[2Bb\x1b[3CC\x1b[3DD\x1b[2AE", "\nA   E\n\n b D C"},
		{"CUU stops at the top", "a\x1b[99Ab\x1b[99Bc", "ab\n\n\n  c"},
		{"CNL, CPL", "\x1b[2Ea\x1b[Fb", "\nb\na"},
		{"CHA, HPA, HPR", "\x1b[3Ga\x1b[5`b\x1b[ac", "  a b c"},
		{"VPA, VPR", "\x1b[2da\x1b[eb", "\na\n b"},
		{"huge arguments", "a\x1b[99999999999999999999Cb\x1b[4294967297Gc\x1b[0Gd", "d      c"},

		{"EL 0", eight + "\x1b[2;4H\x1b[K", "abcdefgh\nABC\n12345678"},
		{"EL 1", eight + "\x1b[2;4H\x1b[1K", "abcdefgh\n    EFGH\n12345678"},
		{"EL 2", eight + "\x1b[2;4H\x1b[2K", "abcdefgh\n\n12345678"},
		{"DECSEL", eight + "\x1b[2;4H\x1b[?K", "abcdefgh\nABC\n12345678"},
		{"ED 0", eight + "\x1b[2;4H\x1b[J", "abcdefgh\nABC"},
		{"ED 1", eight + "\x1b[2;4H\x1b[1J", "\n    EFGH\n12345678"},
		{"ED 2 keeps what it clears", "a\r\nb\x1b[H\x1b[2Jc", "a\nb\nc"},
		{"ED 2 between frames", "a\r\n\x1b[2J\x1b[Hf1\r\nx\x1b[2J\x1b[Hf2\x1b[2J\x1b[Hf3", "a\nf3"},
		{"ED 2 after lines scrolled off", "\x1b[2J" + numbered(5) + "\x1b[2J\x1b[Hx", "1\n2\n3\n4\n5\nx"},
		{"ED 2 without text", "\x1b[2J\x1b[2J\x1b[Hc", "c"},
		{"ED 0 at the top", "a\r\nb\x1b[H\x1b[Jc", "c"},
		{"ED 3", "a\r\nb\x1b[H\x1b[2J\x1b[3Jc", "a\nb\nc"},
		{"ED 2 alone", "a\r\nb\x1b[H\x1b[2J", "a\nb\n"},
		{"ECH", eight + "\x1b[2;4H\x1b[2X", "abcdefgh\nABC  FGH\n12345678"},
		{"ECH, too many", eight + "\x1b[2;4H\x1b[99X", "abcdefgh\nABC\n12345678"},
		{"ICH", eight + "\x1b[2;4H\x1b[2@", "abcdefgh\nABC  DEF\n12345678"},
		{"ICH, too many", eight + "\x1b[2;4H\x1b[99@x", "abcdefgh\nABCx\n12345678"},
		{"DCH", eight + "\x1b[2;4H\x1b[2P", "abcdefgh\nABCFGH\n12345678"},
		{"DCH, too many", eight + "\x1b[2;4H\x1b[99P", "abcdefgh\nABC\n12345678"},
		{"IRM", eight + "\x1b[2;4H\x1b[4hxy\x1b[4lz", "abcdefgh\nABCxyzEF\n12345678"},
		{"IL", eight + "\x1b[2;4H\x1b[Lx", "abcdefgh\nx\nABCDEFGH\n12345678"},
		{"IL, too many", eight + "\x1b[2;4H\x1b[99L", "abcdefgh\n"},
		{"DL", eight + "\x1b[2;4H\x1b[Mx", "abcdefgh\nx2345678"},
		{"DL, too many", eight + "\x1b[2;4H\x1b[99M", "abcdefgh\n"},
		{"SU", eight + "\x1b[2;2H\x1b[2Sx", "abcdefgh\nABCDEFGH\n12345678\n x"},
		{"SU, too many", eight + "\x1b[99SX", "abcdefgh\nABCDEFGH\n12345678\n\n\n\nX"},
		{"SD", eight + "\x1b[T\x1b[Hx", "x\nabcdefgh\nABCDEFGH\n12345678"},
		{"SD, too many", eight + "\x1b[99T", ""},

		{"IND, NEL", "a\x1bDb\x1bEc", "a\n b\nc"},
		{"RI", "a\r\nb\x1bMc\x1bMd", "  d\nac\nb"},
		{"C1", "a\u0084b\u0085c\u008dd\u009b1;1Hx", "x\n d\nc"},
		{"DECSTBM scrolls between the margins", eight + "\x1b[2;3r\x1b[3;1H\nx", "abcdefgh\n12345678\nx"},
		{"DECSTBM at the top keeps what scrolls", eight + "\x1b[1;2r\x1b[2;1H\nx", "abcdefgh\nABCDEFGH\nx\n12345678"},
		{"DECSTBM that is none", eight + "\x1b[3;2rx", "abcdefgh\nABCDEFGH\n12345678x"},
		{"below the margins", "\x1b[1;2r\x1b[4;1Ha\r\nb\r\nc", "\n\n\nc"},
		{"RI in the margins", eight + "\x1b[2;3r\x1b[2;1H\x1bMx", "abcdefgh\nx\nABCDEFGH"},
		{"IL outside of the margins", eight + "\x1b[2;3r\x1b[L", eightText},
		{"VPR goes over the margin", "\x1b[1;2ra\x1b[3eb", "a\n\n\n b"},
		{"CUU stops at the margin", "\x1b[2;3r\x1b[3;1Ha\x1b[9Ab\x1b[9Bc", "\n b\na c"},
		{"origin mode", "\x1b[2;3r\x1b[?6ha\x1b[9;1Hb\x1b[?6lc", "c\na\nb"},
		{"DECSC, DECRC", "ab\x1b7\r\ncd\x1b8x", "abx\ncd"},
		{"SCOSC, SCORC", "ab\x1b[s\r\ncd\x1b[ux", "abx\ncd"},
		{"DECRC keeps the waiting wrap", "abcdefgh\x1b7\x1b[H\x1b8i", "abcdefghi"},
		{"kitty's keyboard is no SCORC", "ab\x1b[s\r\ncd\x1b[>1u\x1b[<u\x1b[?ux", "ab\ncdx"},
		{"REP", "ab\x1b[3bc", "abbbbc"},
		{"REP of nothing", "\x1b[3bc", "c"},
		{"REP goes on in the next row", "a\x1b[12bc", strings.Repeat("a", 13) + "c"},
		{"REP of a wide one goes on", "日\x1b[6b", strings.Repeat("日", 7)},
		{"REP is bounded", "a\x1b[9999999b", strings.Repeat("a", 1+8*2)},
		{"RIS keeps what it clears", "a\r\nb\x1b[2;3r\x1b[?7l\x1bcabcdefghijk", "a\nb\nabcdefghijk"},
		{"DECSTR", "a\x1b[?7l\x1b[4h\x1b[2;3r\x1b[!p\x1b[Hbcdefghijk", "bcdefghijk"},
		{"line drawing", "\x1b(0lq~\x1b(Bq\x1b)0\x0e`x\x0fx", "┌─·q◆│x"},

		{"the alternate screen", "a\r\n\x1b[?1049hvim\x1b[3;1H~", "\nvim\n~"},
		{"after the alternate screen", "a\r\n\x1b[?1049h" + numbered(9) + "\x1b[2J\x1b[?1049lb", "a\nb"},
		{"1047", "a\x1b[?1047hxyz\x1b[?1047lb", "a   b"},
		{"47", "a\x1b[?47hxyz\x1b[?47lb", "a   b"},
		{"1048", "a\x1b[?1048h\r\nb\x1b[?1048lc", "ac\nb"},
		{"twice", "a\x1b[?1049h\x1b[?1049hx\x1b[?1049l\x1b[?1049lb", "ab"},
		{"RIS in it", "a\x1b[?1049hx\x1bcb", "a\nb"},
		{"other modes", "\x1b[?25l\x1b[?2004h\x1b[?1;2;1000ha\x1b[20hb", "ab"},

		{"colours", "\x1b[1;31mre\x1b[38:2::1:2:3md\x1b[0m\x1b[m.", "red."},
		{"arguments of another sequence", "abcdef\x1b[3D\u009bDx", "abxdef"},
		{"queries", "a\x1b[6n\x1b[c\x1b[?1$p\x1b]11;?\a\x1bP$qm\x1b\\b", "ab"},
		{"sequences with intermediates", "a\x1b[2 q\x1b[1\"p\x1b#8\x1b%G\x1b(Bb", "ab"},
		{"another sequence, by its intermediate", "abc\x1b[2 Dx\x1b[2$K", "abcx"},
		{"odd sequences", "a\x1b[?1?2Kb\x1b[1<2Hc\x1b[1!1Jd", "abcd"},
		{"many arguments", "\x1b[" + strings.Repeat("1;", 100) + "Ha", "a"},
		{"DEL in a sequence", "abc\x1b[\x7f2\x7fDx", "axc"},
		{"a control character in a sequence", "abc\x1b[\r1Cx", "axc"},
		{"ESC in a sequence", "a\x1b[3\x1b[1mb", "ab"},
		{"CAN, SUB", "a\x1b[3\x181b\x1b[\x1a2c\x1b]0;t\x18d\x1bPq\x1ae", "a1b2cde"},
		{"not finished", "a\x1b[3", "a"},
		{"no character of a sequence", "a\x1b[3日b", "a日b"},
	} {
		t.Run(test.what, func(t *testing.T) {
			require.Equal(t, test.text, textOf(t, 8, 4, test.written))
		})
	}
}

const eightText = "abcdefgh\nABCDEFGH\n12345678"
