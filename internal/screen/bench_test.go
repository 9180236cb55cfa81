package screen_test

import (
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/screen"
)

func BenchmarkWrite(b *testing.B) {
	for _, kind := range []struct{ name, line string }{
		{"plain", "the quick brown fox jumps over the lazy dog, and 12345 more words follow\r\n"},
		{"long", strings.Repeat("0123456789", 100) + "\r\n"},
		{"empty", "\r\n"},
		{"coloured", "\x1b[1;32mok\x1b[0m  \x1b[36mgithub.com/acpterm/acpterm\x1b[0m\t\x1b[2m0.123s\x1b[0m\r\n"},
		{"progress", "\r 42% [=================>                         ] 12.3 MB/s eta 0:12\x1b[K"},
		{"redraw", "\x1b[3A\r\x1b[2Klayer 1: 10%\r\n\x1b[2Klayer 2: 20%\r\n\x1b[2Klayer 3: 30%\r\n"},
		{"wide", "日本語のテキストはここに書かれています、そして続きます\r\n"},
		{"marks", "e\u0301o\u0308 क्षि e\u0301o\u0308 क्षि e\u0301o\u0308 क्षि\r\n"},
		{"boxes", "├── internal │ └── screen ─────────────────────\r\n"},
	} {
		b.Run(kind.name, func(b *testing.B) {
			p := []byte(strings.Repeat(kind.line, 1+64<<10/len(kind.line)))
			s := screen.New(80, 24, 1<<20, 0)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				s.Write(p)
			}
		})
	}
}
