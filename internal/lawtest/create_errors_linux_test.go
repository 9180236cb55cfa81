package lawtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// hostOfFailures is the child that prints the errors of creates that this host, which is not root, cannot start.
func hostOfFailures([]string) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.VerdictAllow}
	})}))
	say := func(subject string, req acpterm.CreateTerminalRequest) {
		term, err := m.Create(context.Background(), req, nil)
		if err == nil { // its processes are counted below
			_, err = term.Wait(context.Background())
		}
		var e acpterm.Error
		if found, ok := errors.AsType[*acpterm.Error](err); ok {
			e = *found
		}
		lack, _ := errors.AsType[syscall.Errno](err)
		fmt.Printf("%s: %s %q %q\n", subject, e.Kind, e.Field, unix.ErrnoName(lack))
	}
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	closed := filepath.Join(dir, "closed")
	check(os.Mkdir(closed, 0o600))
	req := hosttest.ChildRequest("pwd")
	req.Cwd = closed
	say("a directory that cannot be entered", req)

	path := closed + ":" + os.Getenv("PATH")
	for _, command := range []string{"true", "true && true", "no-such-program"} {
		req := hosttest.CommandRequest(command)
		req.Env = []acpterm.EnvVariable{{Name: "PATH", Value: path}}
		say(command+", with a directory in PATH that cannot be entered", req)
	}

	script := filepath.Join(dir, "script")
	check(os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700))
	say("an interpreter that is missing", hosttest.CommandRequest(script))

	req.Cwd = dir
	say("before", req)
	check(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: 100}))
	var all []int
	for {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		all = append(all, fd)
	}
	say("a full table of descriptors", req)
	for _, fd := range all {
		unix.Close(fd)
	}
	say("after", req)

	tree := startReady(m, "setsid sleep 300 & echo ready; wait")
	var threads sync.WaitGroup // Go keeps them: if the system refuses it one later, it ends the program
	for range 50 {
		threads.Go(func() { unix.Nanosleep(&unix.Timespec{Nsec: 1e8}, nil) })
	}
	threads.Wait()
	var own unix.Rlimit
	check(unix.Getrlimit(unix.RLIMIT_NPROC, &own))
	check(unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 0, Max: own.Max}))
	say("as many processes as allowed", req)
	fmt.Println(tree.Kill(context.Background()), ownProcesses())
	check(unix.Setrlimit(unix.RLIMIT_NPROC, &own))
	say("after", req)
	check(m.Close())
}

func TestCreateOfWhatAHostCannotStart(t *testing.T) {
	require.Equal(t, `a directory that cannot be entered: invalid params "cwd" ""
true, with a directory in PATH that cannot be entered:  "" ""
true && true, with a directory in PATH that cannot be entered:  "" ""
no-such-program, with a directory in PATH that cannot be entered: command not found "" ""
an interpreter that is missing: not executable "command" "ENOENT"
before:  "" ""
a full table of descriptors: internal "" "EMFILE"
after:  "" ""
as many processes as allowed: internal "" "EAGAIN"
<nil> 0
after:  "" ""
`, runHost(t, "host-of-failures"))
}
