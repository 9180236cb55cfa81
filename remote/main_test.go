package remote

import (
	"cmp"
	"context"
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/stretchr/testify/require"
)

// childVariable selects the function in children that the test binary runs instead of the tests.
const childVariable = "REMOTE_TEST_CHILD"

func TestMain(m *testing.M) {
	if child := children()[os.Getenv(childVariable)]; child != nil {
		child()
		os.Exit(0)
	}
	racetest.Restart()
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == parallel.DefValue {
		parallel.Value.Set("8") // they wait most of the time
	}
	code := m.Run()
	removeHelper()
	os.Exit(code)
}

// openFunc is a Transport.
type openFunc func(ctx context.Context) (io.ReadWriteCloser, error)

func (f openFunc) Open(ctx context.Context) (io.ReadWriteCloser, error) { return f(ctx) }

// open is the number of running tests that have called leaveNothing.
var open atomic.Int32

// newRunner returns a Runner and closes it when the test ends. The test fails if anything of it is left then. By
// default, a connection may take as long as on a slow machine.
func newRunner(t testing.TB, options Options) *Runner {
	t.Helper()
	leaveNothing(t)
	options.ConnectTimeout = cmp.Or(options.ConnectTimeout, 10*time.Minute)
	r, err := NewRunner(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// leaveNothing fails the test if anything of a Runner is left when it ends. Of overlapping tests, the last one to end
// checks; a test with parallel subtests must call it first.
func leaveNothing(t testing.TB) {
	t.Helper()
	before := leaktest.Descriptors()
	open.Add(1)
	t.Cleanup(func() {
		if open.Add(-1) > 0 {
			return
		}
		if left := goroutines(); len(left) > 0 { // FailNow would lose the names of parallel tests
			t.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
		}
		for deadline := time.Now().Add(time.Minute); leaktest.Descriptors() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%d descriptors are left", leaktest.Descriptors()-before)
				break
			}
		}
	})
}

// atOnce runs tests in parallel. Their Runners must leave nothing behind.
func atOnce(t *testing.T, tests map[string]func(*testing.T)) {
	leaveNothing(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// goroutines returns the stacks of goroutines that run code of this package or the packages below, except tests.
func goroutines() []string {
	library := regexp.MustCompile(`acpterm(/internal/\w+|/remote\.\(\*(Runner|connection|outbox|commandProcess)\))\.`)
	return leaktest.Stacks(library.MatchString)
}

// testContext ends long before the test's time limit, but late enough for all expected events.
func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
