package remote

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Bytes read are reported after reportPause. Once the writer has returned, no timer is left for a report.
func TestOutboxReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		r, w := io.Pipe()
		lost, ended := make(chan struct{}), make(chan struct{})
		go func() {
			_ = o.write(w, lost)
			close(ended)
		}()
		time.Sleep(time.Second)
		began := time.Now()
		o.hasRead(1)
		o.hasRead(2)
		_, err := r.Read(make([]byte, 1<<10))
		require.NoError(t, err)
		require.Equal(t, reportPause, time.Since(began))

		r.Close()
		o.hasRead(3)
		synctest.Wait()
		close(lost)
		<-ended
		time.Sleep(time.Second)
		require.Empty(t, o.wake, "a timer has fired")
	})
}
