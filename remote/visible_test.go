//go:build unix

package remote

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// hidden has characters that control a terminal or change the order of other text: C0, C1, and direction marks.
const hidden = "<\x1b\x07\u0080\u009b2J\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\xff>"

// requireVisible fails if text contains a hidden character, or lacks the visible form of hidden.
func requireVisible(t *testing.T, text string) {
	t.Helper()
	require.NotContains(t, text, "\n")
	at := strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
	require.True(t, utf8.ValidString(text))
	require.Negative(t, at, "%q", text)
	require.Contains(t, text, "<")
	require.Contains(t, text, `\u202e`)
}

// Errors before a connection exists show the text of a Transport or a shell, with hidden characters made visible.
func TestErrorsWithoutAConnectionAreVisible(t *testing.T) {
	played := func(play func(*far)) Transport {
		transport, fars := farTransport(t)
		go func() {
			f := <-fars
			play(f)
			f.conn.Close()
		}()
		return transport
	}
	says := func(name string) Transport {
		return played(func(f *far) { f.write(f.marker() + name + hidden + "\n") })
	}
	for name, transport := range map[string]Transport{
		"the Transport fails": openFunc(func(context.Context) (io.ReadWriteCloser, error) {
			return nil, errors.New(hidden)
		}),
		"a noise":        played(func(f *far) { f.marker(); f.write(hidden) }),
		"an error":       says("error "),
		"another answer": says("run"),
		"need":           says("need "),
		"no helper":      played(func(f *far) { f.write(f.marker() + "run\n" + hidden) }),
		"standard error": Command{Args: []string{"sh", "-c", `printf "$0" >&2`, hidden}},
	} {
		t.Run(name, func(t *testing.T) {
			var lost Progress
			r := newRunner(t, Options{Transport: transport, Progress: func(p Progress) { lost = p }})
			err := r.Connect(testContext(t))
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			requireVisible(t, err.Error())
			requireVisible(t, lost.Err.Error())
			if missing, ok := errors.AsType[*NoHelperError](err); ok {
				requireVisible(t, missing.System)
			}
		})
	}
}

// The following are also made visible: errors that a helper answers, the error of a command with an unknown exit, and
// the error of a connection ended by a violation of the protocol.
func TestErrorsOfAHelperAreVisible(t *testing.T) {
	transport, fars := farTransport(t)
	var steps []Progress
	r := newRunner(t, Options{Transport: transport, Progress: func(p Progress) { steps = append(steps, p) }})
	go func() {
		f := <-fars
		asked := func() (id uint64) {
			if r := f.request(); r != nil { // otherwise the test has failed
				id = r.ID
			}
			return id
		}
		f.write(f.marker() + "run\n")
		h := hello()
		h.System, h.Arch = hidden, hidden
		f.answer(frame.Answer{Hello: h})
		f.answer(frame.Answer{Reply: &frame.Reply{ID: asked(), Error: &frame.Error{
			Kind: "denied", Field: hidden, Reason: hidden, Rule: hidden, Cause: hidden,
		}}})
		start := asked()
		f.answer(frame.Answer{Reply: &frame.Reply{ID: start, Started: &frame.Started{Limits: []frame.Limit{
			{Name: "OpenFiles", Value: 1, By: hidden},
		}}}})
		f.answer(frame.Answer{Exit: &frame.Exit{Process: start, Unknown: hidden}})
		f.answer(frame.Answer{Reply: &frame.Reply{ID: asked(), Started: &frame.Started{}}})
		f.answer(frame.Answer{Exit: &frame.Exit{Process: start + 1, Signal: hidden}})
	}()
	_, err := r.RealDir(testContext(t), "/")
	e, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok)
	for _, text := range []string{e.Error(), e.Field, e.Reason, e.Rule, e.Err.Error()} {
		requireVisible(t, text)
	}
	requireVisible(t, steps[1].System)
	requireVisible(t, steps[1].Arch)

	request := startRequest(new(lines))
	request.Limits.OpenFiles = 1
	p, err := r.Start(testContext(t), request)
	require.NoError(t, err)
	requireVisible(t, p.Limits()[0].By)
	_, err = p.Wait()
	require.ErrorIs(t, err, acpterm.ErrExitLost)
	requireVisible(t, err.Error())

	p, err = r.Start(testContext(t), startRequest(new(lines)))
	require.NoError(t, err)
	_, err = p.Wait()
	require.ErrorIs(t, err, acpterm.ErrConnectionLost)
	requireVisible(t, err.Error())
}
