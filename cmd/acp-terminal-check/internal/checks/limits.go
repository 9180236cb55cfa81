package checks

// outputByteLimit: how much output is kept, and which part.

import (
	"strings"
	"unicode/utf8"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

const (
	pageLimit = pageExecuting + ": outputByteLimit"
	typeLimit = typeCreate + ".outputByteLimit"
)

// letters returns a text whose parts differ.
func letters(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat(string(rune('a'+i%26)), 1+i%7))
	}
	return b.String()[:n]
}

func limits() []Check {
	long := letters(1000)
	return []Check{
		protocol("limit.end", "of longer output the end is kept, at most outputByteLimit bytes", pageLimit, func(t *T) {
			text, _ := t.limited(long, 100)
			t.want(len(text) <= 100, "at most 100 bytes", "there are %d", len(text))
			t.want(text != "" && strings.HasSuffix(long, text), "the end of the output", "it is %s", quoted(text))
		}, "wait.pending", "output.shape"),
		protocol("limit.truncated", "truncated is true when output was dropped", typeOutput, func(t *T) {
			_, truncated := t.limited(long, 100)
			t.want(truncated, "truncated true", "it is false")
		}, "limit.end"),
		protocol("limit.below", "output below the limit is whole, and not truncated",
			pageLimit, func(t *T) { t.whole(letters(100), 1000) }, "wait.pending", "output.shape"),
		protocol("limit.exact", "output as long as the limit is whole, and not truncated",
			pageLimit+", once exceeded", func(t *T) { t.whole(letters(100), 100) }, "limit.below"),
		protocol("limit.running", "the limit holds while the command runs",
			pageLimit, limitRunning, "limit.end", "output.live"),
		protocol("limit.character", "the output is cut between characters",
			pageLimit+", at a character boundary", limitCharacter, "create.id.unique", "limit.bytes"),
		protocol("limit.bytes", "the limit counts bytes, not characters", pageLimit, func(t *T) {
			text, _ := t.limited(strings.Repeat("é", 100), 100)
			t.want(len(text) <= 100, "at most 100 bytes, which are 50 of é", "there are %d", len(text))
		}, "limit.truncated"),
		beyond("limit.filled", "no more is dropped than has to be",
			"slightly less, the page says: less than one character", func(t *T) {
				text, _ := t.limited(strings.Repeat("😀", 100), 102)
				t.want(len(text) == 100, "100 bytes, which are whole characters", "there are %d", len(text))
			}, "limit.character"),
		beyond("limit.invalid", "the limit holds for what is shown for bytes that are no UTF-8",
			"such a byte is shown as a character of three; the limit is for what an agent gets", func(t *T) {
				params := with(t.command(child.Many("\xff", 100), child.Out("end")), "outputByteLimit", 100)
				text, _ := t.print(params, func(text string, _ bool) bool { return strings.HasSuffix(text, "end") })
				t.want(len(text) <= 100, "at most 100 bytes, or 32 of U+FFFD and \"end\"", "there are %d", len(text))
			}, "limit.character"),
		beyond("limit.zero", "a limit of 0 keeps nothing, and says so",
			"the schema's minimum is 0: an agent that wants the exit status alone", func(t *T) {
				text, truncated := t.limited("x", 0)
				t.want(text == "" && truncated, "no output, and truncated true", "the output is %s", quoted(text))
			}, "limit.truncated"),
		beyond("limit.large", "a limit of 2^53-1 is accepted",
			"the schema has no maximum: an agent that wants all of it",
			func(t *T) { t.whole("x", 1<<53-1) }, "limit.below"),
		beyond("limit.absent", "without a limit, 16 KiB of output are whole",
			"agents that set no limit expect what a command usually writes", func(t *T) {
				text, truncated := t.print(t.command(child.Many("x", 16<<10)), full(16<<10))
				t.want(len(text) == 16<<10 && !truncated, "16384 bytes, not truncated", "there are %d", len(text))
			}, "wait.pending", "output.shape"),
		beyond("limit.flood", "a command that writes 32 MiB ends, and its last bytes are there",
			"output beyond the limit must neither stop the command nor the client", func(t *T) {
				params := with(t.command(child.Many("x", 32<<20), child.Out("end")), "outputByteLimit", 1000)
				text, _ := t.print(params, func(text string, _ bool) bool { return strings.HasSuffix(text, "end") })
				t.want(len(text) <= 1000 && strings.HasSuffix(text, "end"), "at most 1000 bytes that end with end",
					"the output is %s", quoted(text))
			}, "limit.end"),
	}
}

// full is an argument for print: it waits for that many bytes.
func full(n int) func(string, bool) bool {
	return func(text string, _ bool) bool { return len(text) == n }
}

// limited returns the output of a command that writes a text. The last character must differ from those before it.
func (t *T) limited(written string, limit int) (text string, truncated bool) {
	_, size := utf8.DecodeLastRuneInString(written)
	last := written[len(written)-size:]
	return t.print(t.limitedCommand(written, limit), func(text string, truncated bool) bool {
		return truncated && (text == "" || strings.HasSuffix(text, last))
	})
}

func (t *T) limitedCommand(written string, limit int) rpc.Object {
	return with(t.command(steps(written)...), "outputByteLimit", limit)
}

// steps returns the steps that write a text. They are short if the text begins with one repeated character.
func steps(written string) []string {
	_, size := utf8.DecodeRuneInString(written)
	character := written[:size]
	rest := strings.TrimLeft(written, character)
	n := (len(written) - len(rest)) / size
	switch {
	case n < 10:
		return []string{child.Out(written)}
	case rest == "":
		return []string{child.Many(character, n)}
	}
	return []string{child.Many(character, n), child.Out(rest)}
}

// whole fails unless the output contains the whole written text.
func (t *T) whole(written string, limit int) {
	text, truncated := t.print(t.limitedCommand(written, limit), full(len(written)))
	t.equal(text, written)
	t.want(!truncated, "truncated false", "it is true")
}

func limitRunning(t *T) {
	long := letters(1000)
	id := t.create(with(t.command(child.Out(long), t.lock("wrote"), t.stay()), "outputByteLimit", 100))
	t.runs("wrote")
	end := long[len(long)-10:]
	t.until(func() bool {
		text, _, _ := t.output(id)
		t.want(len(text) <= 100, "at most 100 bytes", "there are %d", len(text))
		return strings.HasSuffix(text, end)
	}, "the end of the output", "it did not come")
	t.still("wrote", "the command")
}

// limitCharacter lets the limit fall on each byte of characters of two, three and four bytes.
func limitCharacter(t *T) {
	for _, character := range []string{"é", "€", "😀"} {
		for off := range len(character) {
			written := strings.Repeat(character, 40) + strings.Repeat("z", off)
			text, _ := t.limited(written, 60)
			t.want(len(text) <= 60 && !strings.ContainsRune(text, utf8.RuneError) && strings.HasSuffix(written, text),
				"at most 60 bytes, whole characters of the end of the output", "it is %s", quoted(text))
		}
	}
}
