package main

// This file reads the environment of the user's login shell, for -login-env, while the agent starts.

import (
	"context"

	"github.com/acpterm/acpterm/usershell"
)

// login reads the environment of the login shell. It is nil without -login-env.
type login struct {
	read chan struct{} // closed when env is set
	env  []string      // or nil for this process's own
	stop context.CancelFunc
}

// readLogin starts to read the environment. If that fails, it prints the error, and commands get this process's own
// environment.
func readLogin(ctx context.Context, screen *screen) *login {
	l := &login{read: make(chan struct{})}
	ctx, l.stop = context.WithCancel(ctx)
	go func() {
		defer close(l.read)
		env, err := usershell.LoginEnvironment(ctx, nil)
		switch {
		case err == nil:
			l.env = env.Env()
		case ctx.Err() == nil:
			screen.following.Go(func() {
				screen.printTo(screen.errors, "acpterm: ", harmless(messageOf(err), escapeControls)+"\n")
			})
		}
	}()
	return l
}

// await returns the environment for a session. Nil means the manager's environment.
func (l *login) await(ctx context.Context) []string {
	if l == nil {
		return nil
	}
	select {
	case <-l.read:
		return l.env
	case <-ctx.Done():
		return nil
	}
}

// close ends the shell if it is still running.
func (l *login) close() {
	if l != nil {
		l.stop()
		<-l.read
	}
}
