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

// Build uses the go command to build the helper for a system and an architecture, as named by Go. It writes a static
// program, acpterm-remote-<system>-<arch>, to the directory to, so os.DirFS(to) can be used as Options.Helpers. module
// is a directory in a module or workspace that requires this package's module at this program's version, and defaults
// to the working directory. Build is meant for development and tests. Released programs should ship the helpers.
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
