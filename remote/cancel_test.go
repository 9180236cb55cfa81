package remote

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// A cancelled start returns once the remote side has confirmed that nothing is left.
func TestCancelledStart(t *testing.T) {
	for name, confirm := range map[string]func(f *far, id uint64, confirmed chan<- struct{}){
		"before it has started": func(f *far, id uint64, confirmed chan<- struct{}) {
			confirmed <- struct{}{}
			f.answer(frame.Answer{Reply: &frame.Reply{ID: id, Error: &frame.Error{Kind: "cancelled"}}})
		},
		"after it": func(f *far, id uint64, confirmed chan<- struct{}) {
			f.answer(frame.Answer{Reply: &frame.Reply{ID: id, Started: &frame.Started{}}})
			f.answer(frame.Answer{Exit: &frame.Exit{Process: id, Signal: "SIGKILL"}})
			f.answer(frame.Answer{Gone: &frame.Process{Process: id}})
			closing := f.request().Close
			confirmed <- struct{}{}
			f.answer(frame.Answer{Closed: closing})
		},
		"by the connection's end": func(f *far, _ uint64, confirmed chan<- struct{}) {
			confirmed <- struct{}{}
			f.conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			confirmed := make(chan struct{})
			ctx, cancel := context.WithCancelCause(t.Context())
			r := against(t, func(f *far) {
				f.greet()
				start := f.request()
				cancel(errors.New("enough"))
				if c := f.request(); c.Cancel == nil || c.Cancel.Process != start.Start.Process {
					t.Errorf("%+v is no cancel", c)
				}
				confirm(f, start.ID, confirmed)
			})
			var text lines
			returned := make(chan error, 1)
			go func() {
				_, err := r.Start(ctx, startRequest(&text))
				returned <- err
			}()
			for confirmed != nil {
				select {
				case <-confirmed:
					confirmed = nil
				case err := <-returned:
					t.Fatalf("Start returned before that: %v", err)
				}
			}
			require.EqualError(t, <-returned, "enough")
			require.EqualValues(t, 1, text.closed.Load())
		})
	}
}

// A start may be cancelled after the end of its tree has arrived.
func TestCancelAfterGone(t *testing.T) {
	r := against(t, func(f *far) {
		f.serve(func(id uint64) {
			f.answer(frame.Answer{Exit: &frame.Exit{Process: id}})
			f.answer(frame.Answer{Gone: &frame.Process{Process: id}})
			if cancel := f.request(); cancel == nil || cancel.Cancel == nil {
				t.Errorf("%+v is no cancel", cancel)
			}
			f.answerClose()
		})
	})
	p, err := r.Start(testContext(t), startRequest(new(lines)))
	require.NoError(t, err)
	<-p.Gone()
	p.(*process).cancel()
	select {
	case <-p.(*process).freed.Done():
	case <-testContext(t).Done():
		t.Fatal("it was not closed")
	}
	require.NoError(t, r.link.connection.whyLost())
}

// If the remote side cannot end a cancelled start, only this start is given up.
func testCancelledStartCannotBeEnded(t *testing.T) {
	refused := &frame.Error{Kind: "cancelled"}
	for name, c := range map[string]struct {
		reply *frame.Reply // to the start, once its close has arrived
		lost  bool
	}{
		"it runs":            {reply: &frame.Reply{Started: &frame.Started{}}},
		"it was refused":     {reply: &frame.Reply{Error: refused}},
		"no answer to close": {lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			r := against(t, func(f *far) {
				f.greet()
				start := f.request()
				cancel(errors.New("enough"))
				f.request()
				closing := f.request()
				if closing == nil || closing.Close == nil {
					t.Errorf("%+v is no close", closing)
					return
				}
				if c.reply != nil {
					c.reply.ID = start.ID
					f.answer(frame.Answer{Reply: c.reply})
					f.answer(frame.Answer{Closed: closing.Close})
				}
				if next := f.request(); next != nil {
					f.answer(frame.Answer{Reply: &frame.Reply{ID: next.ID, Error: refused}})
				}
			})
			require.NoError(t, r.Connect(testContext(t)))
			connection := r.link.connection
			wait := 5 * time.Second // for the unanswered cancel, and for the close, which takes far less
			if c.lost {
				wait = 100 * time.Millisecond
			}
			connection.cancelTimeout = wait
			var text lines
			_, err := r.Start(ctx, startRequest(&text))
			require.EqualError(t, err, "enough")
			require.EqualValues(t, 1, text.closed.Load())
			if c.lost {
				require.ErrorContains(t, connection.whyLost(), "has not ended a cancelled start within 200ms")
			} else {
				_, err = r.RealDir(testContext(t), "/")
				require.ErrorIs(t, err, acpterm.ErrCancelled, "the connection is still there")
				require.Empty(t, connection.processes)
			}
		})
	}
}
