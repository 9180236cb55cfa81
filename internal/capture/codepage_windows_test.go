package capture

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The system's code pages with one and with two bytes per character decode correctly, however the input is split.
func TestCodePages(t *testing.T) {
	for number, texts := range map[uint32]map[string]string{
		437:  {"caf\x82 \xe0\xe1": "café αß", "\xb3\xc4\xda": "│─┌"},
		850:  {"caf\x82 \xd0\xd1": "café ðÐ"},
		1252: {"caf\xe9 \x80": "café €"},
		932:  {"\x93\xfa\x96\x7b \x83\x5c\x83\x7c.": "日本 ソポ.", "\xb1\xb2": "ｱｲ", "\x83\n\x93\xfa": "\uFFFD\n日"},
		936:  {"\xd6\xd0\xce\xc4": "中文"},
		949:  {"\xc7\xd1\xb1\xdb": "한글"},
		950:  {"\xa4\xa4\xa4\xe5": "中文"},
	} {
		page := newCodePage(number)
		require.NotNil(t, page, number)
		for written, want := range texts {
			pieces := []string{}
			for i := range len(written) {
				pieces = append(pieces, written[i:i+1])
			}
			whole, _ := decoded(t, func() *CodePage { return page }, written)
			require.Equal(t, want, whole, number)
			whole, _ = decoded(t, func() *CodePage { return page }, pieces...)
			require.Equal(t, want, whole, number)
		}
	}
	for _, number := range []uint32{utf8CodePage, 54936, 99999} { // GB 18030 has characters of four bytes
		require.Nil(t, newCodePage(number), number)
	}
	page := ConsoleCodePage()
	require.NotNil(t, page) // wine and most systems have one
	for i, text := range page.Single {
		require.True(t, text != "" || page.Pair(byte(0x80+i), 0x40) != "")
	}
}
