package acpterm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/lookup"
)

// A create's way from the request to the running command: the settings of its session, the resolved command, the
// decision, and the start. Errors name the field of the request.

// Create starts a command in a new terminal and returns once the command is running. The provided context is only used
// for this call and does not affect the command once it is running. If ctx is done before Create returns, no process is
// left behind. If options is nil, the options of the session and the Manager are used.
//
// All errors are of type *Error. The kind is ErrInvalidParams, ErrNotExecutable or ErrCommandNotFound if the request is
// at fault; ErrQuota, ErrDenied or ErrSessionNotFound if it was refused; ErrCancelled if ctx is done; and ErrClosing if
// Shutdown or Close was called. Otherwise, it is ErrInternal, which indicates that a system call failed, an option is
// invalid (Field is its name), or a function in the options panicked, in which case the panic and its stack are logged.
func (m *Manager) Create(ctx context.Context, req CreateTerminalRequest, options *CommandOptions) (*Terminal, error) {
	return m.create(ctx, req.clone(), options, func(*Terminal) error { return nil })
}

// create is Create. It retains all of req, passes the running terminal to adopt, and releases it if adopt fails.
func (m *Manager) create(
	ctx context.Context, req CreateTerminalRequest, options *CommandOptions, adopt func(*Terminal) error,
) (*Terminal, error) {
	fail := func(err error) (*Terminal, error) { return nil, inOperation("create", req.SessionID, err) }
	if err := options.validate("CommandOptions", m.machine); err != nil {
		return fail(err)
	}
	if !m.beginCreate() {
		return fail(&Error{Kind: ErrClosing})
	}
	running := sync.OnceFunc(m.creates.Done)
	defer running()
	s, err := m.settings(req.SessionID)
	if err != nil {
		return fail(err)
	}
	ctx, stop := s.whileOpen(ctx, &m.closing)
	defer stop()
	own := cmp.Or(options, &CommandOptions{}).clone(m.machine.names())
	t, err := m.launch(ctx, &s, req, own, func(t *Terminal) error {
		running() // adopt may call Close
		return adopt(t)
	})
	if err != nil {
		return fail(orClosed(ctx, err))
	}
	return t, nil
}

// launch resolves a command, decides whether it may run, and starts it.
func (m *Manager) launch(
	ctx context.Context, s *settings, req CreateTerminalRequest, own CommandOptions, adopt func(*Terminal) error,
) (*Terminal, error) {
	if ctx.Err() != nil {
		return nil, &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	command, err := s.resolveWith(ctx, req, own)
	if err != nil {
		return nil, err
	}
	if err := m.events.full(m.options.maxReservedBytes()); err != nil {
		return nil, err
	}
	id := TerminalID(m.ids.Next(string(req.SessionID)))
	allowed, err := m.authorizer.authorize(ctx, *s, id, req, command)
	if err == nil {
		defer allowed.pinned.Close()
	}
	if err := m.events.recordDecision(ctx, allowed.decision, err); err != nil {
		return nil, err
	}
	t, err := m.run(ctx, *s, id, &allowed, adopt)
	if err == nil {
		return t, nil
	}
	err = inOperation("create", req.SessionID, orClosed(ctx, err))
	if t == nil || t.State() == StateFailed { // otherwise the terminal has reported its end
		m.events.emit(&EndEvent{Subject: allowed.decision.Subject, Ended: time.Now(), Err: err})
	}
	return nil, err
}

// beginCreate counts a create. It returns false if the Manager is closing.
func (m *Manager) beginCreate() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	closing := m.closing.IsSet()
	if !closing {
		m.creates.Add(1)
	}
	return !closing
}

// settings are the options of one create.
type settings struct {
	options  *Options // of the Manager
	machine  machine
	called   time.Time      // when the create was called
	commands CommandOptions // merged from the levels so far
	policy   Policy         // of all levels, or nil
	roots    []string       // of the session, resolved; nil if all directories are allowed
	head     int64          // bytes of the beginning that the request asks for
	closed   *latch.Latch   // of the session, or nil if it was not opened
}

// done returns a channel closed with the session, or nil if the session was not opened.
func (s settings) done() <-chan struct{} {
	if s.closed == nil {
		return nil
	}
	return s.closed.Done()
}

// settings returns the settings of creates in a session.
func (m *Manager) settings(id SessionID) (settings, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.sessions[id]
	if m.options.RequireSessions && (known == nil || known.closed == nil) {
		return settings{}, &Error{Kind: ErrSessionNotFound, SessionID: id}
	}
	s := settings{options: &m.options, machine: m.machine, called: time.Now()}
	var own SessionOptions
	if known != nil && known.closed != nil {
		own, s.roots, s.closed = known.options, known.roots, known.closed
	}
	own.Commands.Dir = cmp.Or(append([]string{own.Commands.Dir}, s.roots...)...)
	s.commands = own.Commands.orElse(m.options.Commands)
	var all Policies
	for _, policy := range []Policy{m.options.Policy, own.Policy} {
		if policy != nil {
			all = append(all, policy)
		}
	}
	if s.roots != nil {
		all = append(all, confinement(s.roots)) // last, so that records name the rule that allowed the command
	}
	if all != nil {
		s.policy = all
	}
	return s, nil
}

// whileOpen returns the context of a create. It ends with ctx. If the create may wait for a policy, a record or a
// Runner, it also ends with the session and with the Manager.
func (s settings) whileOpen(ctx context.Context, closing *latch.Latch) (_ context.Context, stop func()) {
	if s.policy == nil && s.options.Record == nil && !s.machine.remote() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stops := []func() bool{closing.OnSet(func() { cancel(ErrClosing) })}
	if s.closed != nil {
		stops = append(stops, s.closed.OnSet(func() { cancel(ErrSessionNotFound) }))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

// resolveWith resolves the command of a request with the options of Create, and then adds those of Options.CommandsFor.
// The settings then have the options of all levels.
func (s *settings) resolveWith(ctx context.Context, req CreateTerminalRequest, own CommandOptions) (located, error) {
	session := s.commands
	s.commands = own.orElse(session)
	command, err := s.resolve(ctx, req)
	if err != nil {
		return command, err
	}
	chosen, err := s.commandsFor(req.SessionID, command.Command)
	if err != nil {
		return command, err
	}
	s.commands = own.orElse(chosen.orElse(session))
	if s.commands.PTY != nil {
		command.Env = s.ptyEnv(command, req.Env)
	}
	return command, nil
}

// commandsFor calls Options.CommandsFor.
func (s *settings) commandsFor(session SessionID, c Command) (CommandOptions, error) {
	var chosen *CommandOptions
	if choose := s.options.CommandsFor; choose != nil {
		if err := callHook("CommandsFor", func() { chosen = choose(session, c.clone()) }); err != nil {
			return CommandOptions{}, err
		}
	}
	if chosen == nil {
		return CommandOptions{}, nil
	}
	const field = "Options.CommandsFor"
	for _, resolved := range []struct {
		name string
		set  bool
	}{
		{"Dir", chosen.Dir != ""}, {"Env", chosen.Env != nil}, {"Unattended", chosen.Unattended != nil},
		{"Shell", chosen.Shell != nil}, {"ShellLines", chosen.ShellLines != ShellAuto},
	} {
		if resolved.set {
			return CommandOptions{}, optionError(field+"."+resolved.name, "must not be set: the command is resolved")
		}
	}
	if chosen.Stdin != nil {
		return CommandOptions{}, optionError(field+".Stdin", onlyCreate)
	}
	if err := chosen.validate(field, s.machine); err != nil {
		return CommandOptions{}, err
	}
	return chosen.clone(s.machine.names()), nil
}

// resolve returns the command of a request. It returns ErrInvalidParams, ErrNotExecutable or ErrCommandNotFound,
// ErrInternal if an option is to blame, and any error of a Runner.
func (s *settings) resolve(ctx context.Context, req CreateTerminalRequest) (located, error) {
	o := &s.commands
	var err error
	if s.head, err = req.headBytes(); err != nil {
		return located{}, err
	}
	if err := checkStrings(req); err != nil {
		return located{}, err
	}
	dir, env, err := s.machine.base(ctx)
	if err != nil {
		return located{}, err
	}
	dir, err = s.machine.dir(cmp.Or(req.Cwd, o.Dir, dir))
	if err != nil {
		return located{}, dirError(req, err)
	}
	env = orElse(o.Env, env)
	c := Command{
		Args: append([]string{req.Command}, req.Args...),
		Dir:  dir,
		Env:  mergeEnv(s.machine.names(), env, dir, o.unattended(env, req.Env), req.Env),
	}
	var found located
	shell := len(req.Args) == 0 && o.ShellLines == ShellAlways
	if !shell {
		found, err = s.machine.program(ctx, c)
		shell = errors.Is(err, ErrCommandNotFound) && len(req.Args) == 0 &&
			o.ShellLines == ShellAuto && strings.ContainsAny(req.Command, shellSyntax)
	}
	if shell {
		c.ShellLine = req.Command
		found, err = s.machine.shell(ctx, c, *cmp.Or(o.Shell, &Shell{}), env)
	}
	found.env = env
	return found, dirError(req, err)
}

func (s *settings) ptyEnv(c located, set []EnvVariable) []string {
	base := slices.DeleteFunc(slices.Clone(c.env), func(variable string) bool {
		name, _, _ := lookup.Cut(variable) // programs prefer these to the size of the terminal
		return lookup.Key(name) == "COLUMNS" || lookup.Key(name) == "LINES"
	})
	own := []string{"TERM=" + cmp.Or(s.commands.PTY.Term, "xterm-256color")}
	if !s.commands.PTY.Attended {
		own = append(own, s.commands.unattended(base, set)...)
	}
	return mergeEnv(lookup.Key, base, c.Dir, own, set)
}

// mergeEnv is lookup.Merge with the embedder's own variables, then those of a request.
func mergeEnv(names lookup.Names, base []string, dir string, own []string, set []EnvVariable) []string {
	all := slices.Grow(slices.Clone(own), len(set))
	for _, v := range set {
		all = append(all, v.Name+"="+v.Value)
	}
	return lookup.Merge(names, base, dir, all)
}

// dirError blames the host for an error about a directory that the host has set.
func dirError(req CreateTerminalRequest, err error) error {
	e, ok := err.(*Error)
	if ok && req.Cwd == "" && e.Kind == ErrInvalidParams && e.Field == "cwd" {
		return &Error{Kind: ErrInternal, Reason: "the directory for requests without cwd: " + e.Reason, Err: e.Err}
	}
	return err
}

// checkStrings refuses strings that no system call takes.
func checkStrings(req CreateTerminalRequest) error {
	switch {
	case req.SessionID == "":
		return invalidField("sessionId", "must not be empty")
	case req.Command == "":
		return invalidField("command", "must not be empty")
	case hasNUL(req.Command):
		return invalidField("command", "must not contain NUL")
	case hasNUL(req.Cwd):
		return invalidField("cwd", "must not contain NUL")
	}
	for i, arg := range req.Args {
		if hasNUL(arg) {
			return invalidField(fmt.Sprintf("args[%d]", i), "must not contain NUL")
		}
	}
	for i, v := range req.Env {
		switch {
		case v.Name == "":
			return invalidField(fmt.Sprintf("env[%d].name", i), "must not be empty")
		case hasNUL(v.Name) || strings.Contains(v.Name, "="):
			return invalidField(fmt.Sprintf("env[%d].name", i), `must not contain "=" or NUL`)
		case hasNUL(v.Value):
			return invalidField(fmt.Sprintf("env[%d].value", i), "must not contain NUL")
		}
	}
	return nil
}

// run starts an allowed command in a new terminal. With an error it returns the discarded terminal, or nil.
func (m *Manager) run(
	ctx context.Context, s settings, id TerminalID, allowed *authorized, adopt func(*Terminal) error,
) (t *Terminal, err error) {
	req, command := allowed.proposal.Requested, allowed.proposal.Command
	command.Env = lookup.Mark(command.Env, string(id))
	limits := m.options.outputLimits(&s.commands, req.OutputByteLimit, s.head)
	t = &Terminal{
		id:         id,
		about:      allowed.decision.Subject,
		request:    req,
		created:    time.Now(),
		escalation: lifeSteps(s.commands.escalation()),
		timeout:    max(s.commands.Timeout, 0),
		idle:       max(s.commands.IdleTimeout, 0),
		owner:      managed{m.machine.remote()},
		backend:    notStarted{},
		store:      newStore(limits, &s.commands),
		shared:     &m.shared,
	}
	if err := m.registerInRoom(t, s); err != nil {
		return nil, err
	}
	err = t.start(ctx, m.machine, command, allowed, s)
	switch {
	case err != nil:
	case m.closing.IsSet():
		err = &Error{Kind: ErrClosing}
	case ctx.Err() != nil:
		err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	default:
		err = adopt(t)
	}
	if err != nil {
		m.discard(t)
	}
	return t, err
}

// orElse returns list, or other if list is nil.
func orElse[T any](list, other []T) []T {
	if list != nil {
		return list
	}
	return other
}
