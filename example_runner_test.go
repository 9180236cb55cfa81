package acpterm_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm"
)

// echoRunner runs one program, echo, in this process. A real Runner asks a container or another machine: see package
// remote, and the example of acptermtest.TestRunner.
type echoRunner struct{}

func (echoRunner) Base(context.Context) (dir string, env []string, err error) { return "/", nil, nil }

func (echoRunner) RealDir(_ context.Context, dir string) (string, error) { return dir, nil }

func (echoRunner) LookPath(_ context.Context, c acpterm.Command) (acpterm.Found, error) {
	if c.Args[0] != "echo" {
		return acpterm.Found{}, &acpterm.Error{Kind: acpterm.ErrCommandNotFound, Command: c.Args[0]}
	}
	return acpterm.Found{Path: "/bin/echo"}, nil
}

func (echoRunner) Start(_ context.Context, r acpterm.StartRequest) (acpterm.Process, error) {
	p := &echoProcess{gone: make(chan struct{})}
	go func() {
		io.WriteString(r.Output, strings.Join(r.Command.Args[1:], " ")+"\n")
		r.Output.Close() // no process is left that could write
		close(p.gone)
	}()
	return p, nil
}

type echoProcess struct{ gone chan struct{} }

func (p *echoProcess) Wait() (acpterm.TerminalExitStatus, error) {
	<-p.gone
	return acpterm.TerminalExitStatus{ExitCode: new(uint32(0))}, nil
}
func (p *echoProcess) Signal(syscall.Signal)           {} // it ends by itself, immediately
func (p *echoProcess) Gone() <-chan struct{}           { return p.gone }
func (p *echoProcess) Err() error                      { return nil }
func (p *echoProcess) PID() int                        { return 0 }
func (p *echoProcess) Limits() []acpterm.EnforcedLimit { return nil }
func (p *echoProcess) Close()                          {}

// Run commands somewhere other than on this system.
func ExampleRunner() {
	m, err := acpterm.NewManager(&acpterm.Options{Runner: echoRunner{}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx := context.Background()
	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo", Args: []string{"from elsewhere"}}
	t, err := m.Create(ctx, request, nil)
	if err != nil {
		log.Fatal(err)
	}
	status, err := t.Wait(ctx)
	fmt.Printf("%q %v %v\n", t.Output().Output, status, err)
	request.Command = "ls"
	_, err = m.Create(ctx, request, nil)
	fmt.Println(err)
	// Output:
	// "from elsewhere\n" exit code 0 <nil>
	// acpterm: create: "ls": command not found
}

// Follow events, for example to show them.
func ExampleManager_Observe() {
	m, err := acpterm.NewManager(&acpterm.Options{Runner: echoRunner{}})
	if err != nil {
		log.Fatal(err)
	}
	stop := m.Observe(func(event acpterm.Event) {
		switch e := event.(type) {
		case *acpterm.DecisionEvent:
			fmt.Println("decided:", e.Verdict)
		case *acpterm.StartEvent:
			fmt.Println("started:", e.Terminal.Command())
		case *acpterm.EndEvent:
			fmt.Println("ended:", e.EndedBy, e.Status)
		case *acpterm.ReleaseEvent:
			fmt.Println("released:", e.Err)
		}
	})
	ctx := context.Background()
	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo", Args: []string{"x"}}
	t, err := m.Create(ctx, request, nil)
	if err != nil {
		log.Fatal(err)
	}
	t.Wait(ctx)
	m.Close() // releases it, and returns after the last event
	stop()
	// Output:
	// decided: allow
	// started: echo x
	// ended: finished exit code 0
	// released: <nil>
}
