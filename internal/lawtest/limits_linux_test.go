package lawtest

// Limits on Linux. Each holds from the first instruction on, also for children, and is reported by Terminal.Info.
// Setting them leaves no trace.

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// limitChildren returns the children of these tests.
func limitChildren() map[string]func(args []string) {
	return map[string]func(args []string){
		// who: prints its effective user id.
		"who":                        func([]string) { fmt.Print(os.Geteuid()) },
		"host-with-a-fork-bomb":      hostWithAForkBomb,
		"host-of-a-delegated-cgroup": hostOfADelegatedCgroup,
		"host-of-a-set-user-id":      hostOfASetUserID,
		"host-that-may-not-trace":    hostThatMayNotTrace,
		"host-of-unreadable-things":  hostOfUnreadableThings,
	}
}

// runLimited runs a command under limits to its end.
func runLimited(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest, limits acpterm.Limits) *acpterm.Terminal {
	t.Helper()
	return hosttest.Finish(t, m, req, &acpterm.CommandOptions{Limits: &limits})
}

// outputUnder runs a command under limits and returns its output in one line.
func outputUnder(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest, limits acpterm.Limits) string {
	t.Helper()
	return strings.Join(strings.Fields(runLimited(t, m, req, limits).Output().Output), " ")
}

func rlimit(name string, value int64) acpterm.EnforcedLimit {
	return acpterm.EnforcedLimit{Name: name, Value: value, By: "rlimit"}
}

// Limits never exceed the host's own limits.
func TestLimitsAreNoMoreThanTheHostHas(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	var own unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &own))
	term := runLimited(t, m, shellRequest("ulimit -Hn"), acpterm.Limits{OpenFiles: 1<<31 - 1})
	require.Equal(t, fmt.Sprintln(own.Max), term.Output().Output)
	require.Equal(t, []acpterm.EnforcedLimit{rlimit("OpenFiles", int64(own.Max))}, term.Info().Limits)
}

// firstInstruction returns a program whose first instructions ask how many files it may open, and write the answer.
func firstInstruction(t *testing.T) string {
	var machine uint16
	var code string
	switch runtime.GOARCH {
	case "amd64":
		machine, code = 62, "\x48\x83\xec\x10"+ // sub rsp, 16
			"\x31\xff\xbe\x07\x00\x00\x00\x31\xd2\x49\x89\xe2\xb8\x2e\x01\x00\x00\x0f\x05"+ // prlimit64(0, RLIMIT_NOFILE, 0, rsp)
			"\xbf\x01\x00\x00\x00\x48\x89\xe6\xba\x10\x00\x00\x00\xb8\x01\x00\x00\x00\x0f\x05"+ // write(1, rsp, 16)
			"\x31\xff\xb8\x3c\x00\x00\x00\x0f\x05" // exit(0)
	case "arm64":
		machine, code = 183, "\xff\x43\x00\xd1\x00\x00\x80\xd2\xe1\x00\x80\xd2\x02\x00\x80\xd2"+ // the same
			"\xe3\x03\x00\x91\xa8\x20\x80\xd2\x01\x00\x00\xd4"+
			"\x20\x00\x80\xd2\xe1\x03\x00\x91\x02\x02\x80\xd2\x08\x08\x80\xd2\x01\x00\x00\xd4"+
			"\x00\x00\x80\xd2\xa8\x0b\x80\xd2\x01\x00\x00\xd4"
	default:
		t.Skip("the program is for amd64 and arm64")
	}
	const base, headers = 0x400000, 64 + 56
	var file bytes.Buffer
	write := func(fields ...any) {
		for _, field := range fields {
			require.NoError(t, binary.Write(&file, binary.LittleEndian, field))
		}
	}
	write([]byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), uint16(2), machine, uint32(1),
		uint64(base+headers), uint64(64), uint64(0), uint32(0), uint16(64), uint16(56), uint16(1), uint16(64), uint16(0), uint16(0))
	write(uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), uint64(headers+len(code)), uint64(headers+len(code)), uint64(4096))
	write([]byte(code))
	path := filepath.Join(t.TempDir(), "first-instruction")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o755))
	return path
}

// A program never runs without its limits, not even for a moment: one that asks in its first instructions sees them.
func TestLimitsHoldFromTheFirstInstruction(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	request := hosttest.CommandRequest(firstInstruction(t))
	want := "{" + strings.Repeat("\x00", 7) + "{" + strings.Repeat("\x00", 7) // '{' is 123
	require.NotEqual(t, want, runLimited(t, m, request, acpterm.Limits{}).Output().Output)
	for range 200 {
		term := runLimited(t, m, request, acpterm.Limits{OpenFiles: '{'})
		require.Equal(t, want, term.Output().Output)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// A command under limits is not traced, and its signal mask and everything else are the same as without limits.
func TestSettingLimitsLeavesNoTrace(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	request := shellRequest("exec grep -E '^(TracerPid|NoNewPrivs|Sig...|ShdPnd|Cap...|Seccomp|Groups|[UG]id):' /proc/self/status")
	without := outputUnder(t, m, request, acpterm.Limits{})
	require.Contains(t, without, "TracerPid: 0")
	require.Equal(t, without, outputUnder(t, m, request, acpterm.Limits{OpenFiles: 50, Nice: 1}))
	require.Equal(t, without, outputUnder(t, m, request, acpterm.Limits{}), "the thread that starts commands is as it was")
}

// An ineffective limit is not reported as a limit: RLIMIT_NPROC does not bound root.
func TestProcessesOfRootTakeACgroup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("of root")
	}
	here().RequireRefused(t, hosttest.NewManager(t, nil), "Limits.Processes", acpterm.Limits{Processes: 20})
}

// If the cgroup's parent lacks the controllers, rlimits are used and reported.
func TestACgroupWithoutControllers(t *testing.T) {
	parent := linuxtest.CgroupDir(t)
	m := hosttest.NewManager(t, &acpterm.Options{Cgroup: parent})
	term := runLimited(t, m, shellRequest("ulimit -v"), acpterm.Limits{Memory: 8 << 30})
	require.Equal(t, []acpterm.EnforcedLimit{rlimit("Memory", 8<<30)}, term.Info().Limits)
	require.Equal(t, "8388608\n", term.Output().Output)
}

// A fork bomb in a cgroup makes as many processes as it may, and is ended, even if it never stops.
func TestForkBombInACgroup(t *testing.T) {
	parent := cgroupWith(t, "pids")
	m := hosttest.NewManager(t, &acpterm.Options{Cgroup: parent, Commands: acpterm.CommandOptions{Escalation: quickly}})
	for _, bomb := range []string{forkBomb, "trap '' TERM; bomb() { while :; do bomb & done; }; bomb"} {
		term := hosttest.Create(t, m, shellRequest(bomb), &acpterm.CommandOptions{
			Limits: &acpterm.Limits{Processes: 20},
		})
		require.Equal(t, "[{Processes 20 cgroup true}]", fmt.Sprint(term.Info().Limits))
		hosttest.AwaitExit(t, term)
		require.Contains(t, term.Output().Output, "fork")
		now, err := os.ReadFile(filepath.Join(parent, string(term.ID()), "pids.peak"))
		if err == nil {
			require.Equal(t, "20\n", string(now))
		}
		require.NoError(t, term.Kill(t.Context()))
	}
}

// forkBomb starts up to 128 processes that start two more each. The processes stay.
const forkBomb = `trap '' TERM
i=0; while [ $i -lt 128 ]; do { sleep 300 & sleep 300 & wait; } & i=$((i+1)); done`

// copyProgram copies the test binary to a place where every user can run it.
func copyProgram(t *testing.T, mode os.FileMode) string {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	from, err := os.Open(hosttest.Executable())
	require.NoError(t, err)
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "program"), os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	require.NoError(t, os.Chmod(to.Name(), mode))
	return to.Name()
}

// runHost runs a child as a user that nothing else on the machine is likely to use, and returns its output.
func runHost(t *testing.T, args ...string) string {
	t.Helper()
	program := copyProgram(t, 0o755)
	user := uint32(1_000_000 + os.Getpid())
	host := exec.Command(program, append([]string{hosttest.ChildMark}, args...)...)
	host.Dir = filepath.Dir(program)
	host.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	return outputOf(t, host)
}

// outputOf runs a host to its end, and returns its output.
func outputOf(t *testing.T, host *exec.Cmd) string {
	t.Helper()
	host.Stderr = os.Stderr
	said, err := host.Output()
	require.NoError(t, err, "%s", said)
	return string(said)
}

// runHosted creates a terminal in a child process that acts as a host.
func runHosted(m *acpterm.Manager, req acpterm.CreateTerminalRequest, limits acpterm.Limits) *acpterm.Terminal {
	term, err := m.Create(context.Background(), req, &acpterm.CommandOptions{Limits: &limits})
	if err != nil {
		panic(err)
	}
	if _, err := term.Wait(context.Background()); err != nil {
		panic(err)
	}
	return term
}

// ownProcesses counts the processes of this process's user, except this process and zombies.
func ownProcesses() (n int) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		var stat unix.Stat_t
		pid := hosttest.Number(filepath.Base(process))
		if unix.Stat(process, &stat) == nil && int(stat.Uid) == os.Getuid() && pid != os.Getpid() && hosttest.StartTime(pid) != "" {
			n++
		}
	}
	return n
}

// hostWithAForkBomb is the child that prints how many processes a fork bomb reached, and how many of them remain.
func hostWithAForkBomb([]string) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}}))
	term := runHosted(m, shellRequest(forkBomb), acpterm.Limits{Processes: 50})
	fmt.Println(strings.Contains(term.Output().Output, "fork"), ownProcesses() > 5, ownProcesses() <= 50)
	fmt.Println(m.Close(), ownProcesses(), term.Info().Limits)
}

func TestForkBombOfAUser(t *testing.T) {
	require.Equal(t, "true true true\n<nil> 0 [{Processes 50 rlimit false}]\n", runHost(t, "host-with-a-fork-bomb"))
}

// hostOfASetUserID is the child that prints whose rights a set-user-id program has: PROGRAM.
func hostOfASetUserID(args []string) {
	m := hosttest.Must(acpterm.NewManager(nil))
	request := hosttest.CommandRequest(args[0], hosttest.ChildMark, "who")
	for _, limits := range []acpterm.Limits{{}, {OpenFiles: 50}} {
		fmt.Println(runHosted(m, request, limits).Output().Output == fmt.Sprint(os.Getuid()))
	}
	fmt.Println(m.Close())
}

// As documented. Should this ever fail, the documentation has good news to tell.
func TestSetUserIDUnderLimits(t *testing.T) {
	require.Equal(t, "false\ntrue\n<nil>\n", runHost(t, "host-of-a-set-user-id", copyProgram(t, 0o755|os.ModeSetuid)))
}

// hostOfUnreadableThings is the child that runs a program which it may execute but not read: PROGRAM.
func hostOfUnreadableThings(args []string) {
	m := hosttest.Must(acpterm.NewManager(nil))
	request := hosttest.CommandRequest(args[0], hosttest.ChildMark, "open-all")
	fmt.Println(runHosted(m, request, acpterm.Limits{OpenFiles: 50}).Output().Output)
	fmt.Println(m.Close())
}

func TestAnUnreadableProgramUnderLimits(t *testing.T) {
	require.Equal(t, "49 "+unix.EMFILE.Error()+"\n<nil>\n", runHost(t, "host-of-unreadable-things", copyProgram(t, 0o711)))
}

// hostThatMayNotTrace is the child whose ptrace calls fail, by Yama where that is set so, and else by a filter. It
// prints the effect on limits.
func hostThatMayNotTrace([]string) {
	if scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); string(scope) != "3\n" {
		hosttest.Must(0, refuseCall(unix.SYS_PTRACE, unix.EPERM))
	}
	m := hosttest.Must(acpterm.NewManager(nil))
	_, err := m.Create(context.Background(), shellRequest("true"), &acpterm.CommandOptions{
		Limits: &acpterm.Limits{OpenFiles: 50},
	})
	fmt.Println(err)
	fmt.Println(runHosted(m, shellRequest("true"), acpterm.Limits{}).Output().ExitStatus.Success())
	fmt.Println(m.Close())
}

func TestAHostThatMayNotTrace(t *testing.T) {
	said := runHost(t, "host-that-may-not-trace")
	require.Equal(t, "acpterm: create: Limits.OpenFiles: takes ptrace, which this host may not use: "+unix.EPERM.Error()+"\ntrue\n<nil>\n", said)
}

// Signals from outside at any moment of a start end the command, but not the start of others.
func TestSignalsDuringAStartUnderLimits(t *testing.T) {
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGKILL, unix.SIGCONT} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}})
			ctx, cancel := context.WithCancel(t.Context())
			var attacker sync.WaitGroup
			hits := 0
			attacker.Go(func() {
				for ctx.Err() == nil {
					lists, _ := filepath.Glob("/proc/self/task/*/children")
					for _, list := range lists {
						children, _ := os.ReadFile(list)
						for _, pid := range strings.Fields(string(children)) {
							if unix.Kill(hosttest.Number(pid), sig) == nil {
								hits++
							}
						}
					}
				}
			})
			for range 100 {
				term, err := m.Create(t.Context(), shellRequest("exec sleep 3600"), &acpterm.CommandOptions{
					Limits: &acpterm.Limits{OpenFiles: 50},
				})
				if !assertStarted(t, err) {
					break
				}
				if err := m.Release(t.Context(), "s", term.ID()); err != nil {
					t.Error(err)
				}
			}
			cancel()
			attacker.Wait()
			t.Logf("%d signals", hits)
		})
	}
}

func assertStarted(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// Creates under limits race with kills and releases. NewManager looks for leaks.
func TestCreateKillRacesUnderLimits(t *testing.T) {
	limits := acpterm.Limits{OpenFiles: 50, Nice: 1, CPUTime: time.Minute}
	terminaltest.RaceKills(t, hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Timeout: 20 * time.Millisecond, Limits: new(limits)},
	}), 100)
}

// BenchmarkStart measures a create and the end of "true", with and without limits.
func BenchmarkStart(b *testing.B) {
	for name, limits := range map[string]acpterm.Limits{"without": {}, "one-limit": {OpenFiles: 50},
		"all": {OpenFiles: 50, CPUTime: time.Minute, Memory: 8 << 30, FileSize: 1 << 20, Nice: 1}} {
		b.Run(name, func(b *testing.B) {
			m := hosttest.NewManager(b, &acpterm.Options{Commands: acpterm.CommandOptions{Limits: new(limits)}})
			for b.Loop() {
				term := hosttest.Create(b, m, hosttest.CommandRequest("/bin/true"))
				b.StopTimer()
				hosttest.AwaitExit(b, term)
				require.NoError(b, m.Release(b.Context(), "s", term.ID()))
				b.StartTimer()
			}
		})
	}
}
