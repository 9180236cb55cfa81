package remote

import (
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

// A helper cannot make this process allocate much more than the helper sends, whatever the bytes stand for, and cannot
// send much more than is needed.
func TestLyingHelpersMemory(t *testing.T) {
	const bound = 64 << 20 // bytes; twice as much as any of these needs
	hello := `{"hello":{"version":2,"system":"linux","dir":"Lw==","env":[%s]}}`
	limits := `{"reply":{"id":1,"started":{"limits":[%s]}}}`
	cause := `{"reply":{"id":1,"error":{"kind":"internal","cause":"%s"}}}`
	for name, c := range map[string]struct {
		message string // with a placeholder for many copies
		many    string
		size    int
	}{
		"variables in a frame of 16 MiB":    {hello, `"",`, frame.MaxRequest},
		"variables in the longest hello":    {hello, `"",`, frame.MaxHello},
		"a variable in the longest hello":   {strings.Replace(hello, "%s", `"%s"`, 1), `AAAA`, frame.MaxHello},
		"another variable":                  {strings.Replace(hello, "%s", `"%s"`, 1), `QT1B`, frame.MaxHello},
		"limits in a frame of 16 MiB":       {limits, `{},`, frame.MaxRequest},
		"limits in the longest answer":      {limits, `{},`, frame.MaxAnswer},
		"an error of 16 MiB":                {cause, `\u0000`, frame.MaxRequest},
		"an error in the longest answer":    {cause, `\u0000`, frame.MaxAnswer},
		"white space in a frame of 16 MiB":  {`%s{}`, ` `, frame.MaxRequest},
		"white space in the longest answer": {`%s{}`, ` `, frame.MaxAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			head, tail, _ := strings.Cut(c.message, "%s")
			room := c.size - len(head) - len(tail)
			many := strings.TrimSuffix(strings.Repeat(c.many, room/len(c.many)), ",")
			kind := binary.BigEndian.AppendUint32([]byte{frame.KindMessage}, uint32(len(head)+len(many)+len(tail)))
			sent := slices.Concat(kind, []byte(head), []byte(many), []byte(tail))
			r := against(t, func(f *far) {
				if strings.HasPrefix(c.message, `{"hello"`) {
					f.write(f.marker() + "run\n")
				} else {
					f.greet()
					f.request()
				}
				f.conn.Write(sent)
				io.Copy(io.Discard, f.conn)
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := r.Connect(testContext(t))
			if err == nil && !strings.HasPrefix(c.message, `{"hello"`) {
				_, err = r.Start(testContext(t), startRequest(new(lines)))
			}
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB allocated for %d KiB: %.200v", allocated>>10, len(sent)>>10, err)
			require.Less(t, allocated, uint64(bound))
		})
	}
}
