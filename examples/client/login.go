package main

// The environment of the person's login shell, for -login-env: read while the agent starts.

import (
	"context"

	"github.com/acpterm/acpterm/usershell"
)

// login is the environment as it will be known. Nil: it is not wanted.
type login struct {
	read chan struct{} // closed when it is known
	env  []string      // nil: this process's own
	stop context.CancelFunc
}

// readLogin begins to read it. What fails is printed, and commands have this process's own environment then.
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
				screen.printTo(screen.errors, "client: ", harmless(err.Error(), escapeControls)+"\n")
			})
		}
	}()
	return l
}

// await returns it, for a session: nil is the manager's.
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

// close ends the shell, if it runs.
func (l *login) close() {
	if l != nil {
		l.stop()
		<-l.read
	}
}
