package remote

// Building the helper from source.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// helperPackage is the helper's import path.
const helperPackage = "github.com/acpterm/acpterm/remote/cmd/acpterm-remote"

// Build uses the go command to build the helper for the given system and architecture, which are GOOS and GOARCH
// values. It writes a static program named acpterm-remote-<system>-<arch> to the directory to, so that os.DirFS(to) can
// be used as Options.Helpers.
//
// The module argument is a directory in a module or workspace that requires the same version of this package's module
// as this program does. If it is empty, the working directory is used.
//
// Build is intended for development and testing. Released programs should be distributed together with the helpers.
func Build(ctx context.Context, module, to, system, arch string) error {
	if system == "" || arch == "" {
		return errors.New("remote: Build needs a system and an architecture")
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	file := filepath.Join(to, helperName+"-"+system+"-"+arch)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, helperPackage)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("remote: building the helper for %s/%s: %w: %s", system, arch, err, text)
	}
	return nil
}
