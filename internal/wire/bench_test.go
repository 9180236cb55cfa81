package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// testOutput returns text like a test run's output: colours, quotes, tabs and ticks.
func testOutput(size int) []byte {
	const lines = "\x1b[32m✓\x1b[0m \tTestParse/\"quoted\"_name \x1b[90m(0.03s)\x1b[39m\n" +
		"    parse_test.go:42: expected <nil> & got \"unexpected end of input\" at C:\\src\\parse.go:17\n" +
		"=== RUN   TestEverythingElse/with_a_rather_long_name_that_fills_the_line_as_they_do\n"
	return []byte(strings.Repeat(lines, size/len(lines)+1)[:size])
}

// BenchmarkEscaping measures one pass over a megabyte.
func BenchmarkEscaping(b *testing.B) {
	text := testOutput(1 << 20)
	into := make([]byte, 0, 2<<20)
	b.Run("acpterm", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			appendEscaped(into, text)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := json.Marshal(string(text)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("memcpy", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			copy(into[:len(text)], text)
		}
	})
}

// BenchmarkReply measures the response to a poll of a megabyte of new output, and of unchanged output.
func BenchmarkReply(b *testing.B) {
	text := testOutput(1 << 20)
	for name, news := range map[string][]byte{"new": text, "unchanged": nil} {
		b.Run(name, func(b *testing.B) {
			o := newBuffered(1<<20, 0)
			o.write(text)
			var cache Cache
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				o.write(news)
				b.StartTimer()
				if err := cache.Reply(o, []byte("7"), func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
