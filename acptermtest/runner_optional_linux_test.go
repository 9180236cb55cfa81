package acptermtest_test

// Runners that break a law of what a Runner need not have. They are remote.Runners otherwise.

import (
	"context"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/remote"
)

// optionalMutants returns for each optional law a Runner that breaks it.
func optionalMutants(t *testing.T) map[string]acpterm.Runner {
	dir := t.TempDir()
	require.NoError(t, remote.Build(t.Context(), "", dir, runtime.GOOS, runtime.GOARCH))
	runner, err := remote.NewRunner(remote.Options{
		Transport: remote.Command{Args: []string{"sh"}}, Helpers: os.DirFS(dir), Dir: t.TempDir(),
		ConnectTimeout: 10 * time.Minute,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runner.Close()) })
	require.NoError(t, runner.Connect(t.Context()))
	return map[string]acpterm.Runner{"PTY": rigid{runner}, "Stdin": forgetful{runner}, "Processes": indiscreet{runner}}
}

// rigid does not change the size of PTYs.
type rigid struct{ *remote.Runner }

func (r rigid) StartPTY(
	ctx context.Context, request acpterm.StartRequest, size acpterm.TerminalSize,
) (acpterm.PTYProcess, error) {
	p, err := r.Runner.StartPTY(ctx, request, size)
	return rigidPTY{p}, err
}

type rigidPTY struct{ acpterm.PTYProcess }

func (rigidPTY) Resize(acpterm.TerminalSize) error { return nil }

// forgetful loses large input.
type forgetful struct{ *remote.Runner }

func (r forgetful) StartStdin(
	ctx context.Context, request acpterm.StartRequest,
) (acpterm.Process, io.WriteCloser, error) {
	p, input, err := r.Runner.StartStdin(ctx, request)
	return p, forgetfulInput{input}, err
}

type forgetfulInput struct{ io.WriteCloser }

func (i forgetfulInput) Write(p []byte) (int, error) {
	if len(p) > 1<<20 {
		return len(p), nil
	}
	return i.WriteCloser.Write(p)
}

// indiscreet lists a process of another program.
type indiscreet struct{ *remote.Runner }

func (r indiscreet) Start(ctx context.Context, request acpterm.StartRequest) (acpterm.Process, error) {
	p, err := r.Runner.Start(ctx, request)
	return indiscreetProcess{p}, err
}

type indiscreetProcess struct{ acpterm.Process }

func (p indiscreetProcess) Processes(ctx context.Context) ([]acpterm.ProcessInfo, error) {
	list, err := p.Process.(interface {
		Processes(ctx context.Context) ([]acpterm.ProcessInfo, error)
	}).Processes(ctx)
	return append(list, acpterm.ProcessInfo{PID: os.Getpid()}), err
}

// misspelt has a method of a StdinRunner with other parameters.
type misspelt struct{ Enter }

func (misspelt) StartStdin() {}

func TestAMisspeltMethod(t *testing.T) {
	found := failures(t, "Stdin", misspelt{Enter{"env"}}, acptermtest.RunnerGaps{}, time.Minute)
	require.Contains(t, found, "has a method StartStdin, but is no acpterm.StdinRunner")
}
