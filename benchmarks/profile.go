package main

// Profiles of what ran: of this process, and of each client that is a process of its own.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// profiles are the directories for profiles; empty: none of that kind.
type profiles struct{ cpu, allocs, blocking string }

// begin begins the profiles of this process, which are written when stop is called.
func (p profiles) begin(name string) (stop func() error, err error) {
	name = fmt.Sprintf("%s-%d", name, os.Getpid())
	var stops []func() error
	if p.cpu != "" {
		file, err := os.Create(filepath.Join(p.cpu, name+".cpu"))
		if err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return nil, err
		}
		stops = append(stops, func() error { pprof.StopCPUProfile(); return file.Close() })
	}
	if p.allocs != "" {
		file, err := os.Create(filepath.Join(p.allocs, name+".allocs"))
		if err != nil {
			return nil, err
		}
		runtime.MemProfileRate = 1
		stops = append(stops, func() error { return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close()) })
	}
	if p.blocking != "" {
		file, err := os.Create(filepath.Join(p.blocking, name+".blocking"))
		if err != nil {
			return nil, err
		}
		runtime.SetBlockProfileRate(1)
		stops = append(stops, func() error {
			return errors.Join(pprof.Lookup("block").WriteTo(file, 0), file.Close())
		})
	}
	return func() error {
		var errs []error
		for _, stop := range stops {
			errs = append(errs, stop())
		}
		return errors.Join(errs...)
	}, nil
}

// profilesOf reads the directories from a child's arguments.
func profilesOf(args []string) profiles { return profiles{args[0], args[1], args[2]} }
