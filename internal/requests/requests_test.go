package requests_test

import (
	"errors"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/requests"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func request(id uint64) *requests.Request { return &requests.Request{ID: jsonrpc2.ID{Num: id}} }

func TestATableIsBounded(t *testing.T) {
	table := requests.New(2)
	first, second := request(1), request(2)
	require.NoError(t, table.Admit(first))
	require.NoError(t, table.Admit(second))
	require.Equal(t, requests.ErrFull, table.Admit(request(3)))
	require.NoError(t, table.Complete(first))
	require.NoError(t, table.Admit(request(3)), "an answer that is being written is not pending")
	table.Done()
	require.Equal(t, requests.ErrFull, requests.New(-1).Admit(request(1)))
}

// The number of unwritten answers is bounded too, a little higher.
func TestUnwrittenAnswersAreBounded(t *testing.T) {
	table := requests.New(1)
	admitted := 0
	for r := request(1); table.Admit(r) == nil; admitted++ {
		require.NoError(t, table.Complete(r))
	}
	require.Greater(t, admitted, 1)
	require.Less(t, admitted, 1000)
	table.Done()
	require.NoError(t, table.Admit(request(2)))
}

func TestARequestIsCancelledOnceAndBeforeItIsComplete(t *testing.T) {
	why := errors.New("why")
	table := requests.New(10)
	early, late, complete := request(1), request(2), request(3)
	for _, r := range []*requests.Request{early, late, complete} {
		require.NoError(t, table.Admit(r))
	}
	calls := 0
	table.OnCancel(early, func() { calls++ })
	require.True(t, table.Cancel(early.ID, why))
	require.Equal(t, 1, calls)
	require.True(t, table.Cancel(late.ID, why))
	table.OnCancel(late, func() { calls++ })
	require.Equal(t, 2, calls, "it was cancelled before")
	require.Equal(t, why, table.Complete(early))
	require.Equal(t, why, table.Complete(late))
	require.NoError(t, table.Complete(complete))
	require.False(t, table.Cancel(complete.ID, why))
	require.False(t, table.Cancel(jsonrpc2.ID{Num: 9}, why))
}

func TestCloseCancelsWhatIsPending(t *testing.T) {
	why := errors.New("why")
	table := requests.New(10)
	pending := request(1)
	require.NoError(t, table.Admit(pending))
	cancelled := false
	table.OnCancel(pending, func() { cancelled = true })
	table.Close(why)
	require.True(t, cancelled)
	require.Equal(t, why, table.Complete(pending))
	require.Equal(t, requests.ErrClosed, table.Admit(request(2)))
}
