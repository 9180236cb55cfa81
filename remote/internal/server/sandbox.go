package server

// The sandbox of commands, which is that of package bubblewrap.

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// sandboxes keeps the sandboxes that work, because New runs bwrap several times. It is safe for concurrent use.
type sandboxes struct {
	mu  sync.Mutex
	all map[string]*bubblewrap.Sandbox // by the JSON of the options
}

// maxSandboxes bounds the kept sandboxes. A Runner uses one.
const maxSandboxes = 16

func (s *sandboxes) get(f *frame.Sandbox) (*bubblewrap.Sandbox, error) {
	options := bubblewrap.Options{
		Network: f.Network, NoSyscallFilter: f.NoSyscallFilter, Writable: frame.Strings(f.Writable),
		ReadOnly: frame.Strings(f.ReadOnly), Hidden: frame.Strings(f.Hidden),
	}
	key, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	known := s.all[string(key)]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := bubblewrap.New(&options)
	if err != nil {
		return nil, sandboxError(err, "Options.Sandbox.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[string]*bubblewrap.Sandbox)
	}
	if len(s.all) < maxSandboxes {
		s.all[string(key)] = made
	}
	return made, nil
}

// confine changes a Spec, whose directory is not set, to the command that runs it in the sandbox of the request. The
// caller closes the files of the Spec.
func (s *server) confine(r *frame.Start, spec *proc.Spec, dir string) error {
	b, err := s.sandboxes.get(r.Sandbox)
	if err != nil {
		return err
	}
	wrapped, err := b.Wrap(s.ctx, acpterm.Proposal{
		Name: path.Base(spec.Args[0]), Roots: frame.Strings(r.Sandbox.Roots),
		Command: acpterm.Command{Path: spec.Path, Args: spec.Args, Dir: dir, Env: spec.Env},
	})
	if err != nil {
		return sandboxError(err, "")
	}
	spec.Path, spec.Args, spec.Env = wrapped.Command.Path, wrapped.Command.Args, wrapped.Command.Env
	spec.Files, spec.Contained = wrapped.Files, wrapped.PIDNamespace
	if !isMarked(spec.Env, spec.Mark) {
		closeFiles(spec.Files)
		return &failure{kind: internal, reason: "the sandbox's environment lacks the mark"}
	}
	return nil
}

// sandboxError converts an error of package bubblewrap. Only options of the host have a prefix.
func sandboxError(err error, prefix string) error {
	e, ok := errors.AsType[*acpterm.Error](err)
	if !ok {
		return &failure{kind: internal, reason: "the sandbox failed", err: err}
	}
	f := &failure{kind: internal, reason: e.Reason, err: e.Err}
	if e.Field != "" {
		f.field = prefix + e.Field
	}
	if e.Kind == acpterm.ErrInvalidParams && prefix == "" {
		f.kind = invalidParams
	}
	return f
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
