package runctest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// config is the container's description. Its process 1 reports when it runs, and exits at the end of its input.
//
//go:embed config.json
var config []byte

const started = "started\n"

// Start starts a container. Commands can be run in it when Start returns.
func Start(t testing.TB) *Container {
	t.Helper()
	if os.Getuid() != 0 {
		skip(t, "containers are started as root only")
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		skip(t, "busybox is not installed")
	}
	program := cmp.Or(Engine(), "runc")
	if _, err := exec.LookPath(program); err != nil {
		skip(t, program+" is not installed")
	}
	bundle, err := os.MkdirTemp("", "acpterm-runc-")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(bundle)) })
	c := &Container{ID: filepath.Base(bundle), Root: filepath.Join(bundle, "rootfs"), line: []string{program}}
	makeRoot(t, c.Root, busybox)
	var state struct{ Pid int }
	if Engine() == "" {
		c.line = append(c.line, "--root", filepath.Join(bundle, "state"))
		c.exec, c.resume = []string{"exec", c.ID}, "resume"
		check(t, os.WriteFile(filepath.Join(bundle, "config.json"), config, 0o644))
		c.start(t, "run", "--bundle", bundle, c.ID)
		check(t, json.Unmarshal(c.run(t, "state", c.ID), &state))
	} else {
		c.exec, c.resume = []string{"exec", "-i", c.ID}, "unpause"
		image := filepath.Join(bundle, "image")
		check(t, exec.Command("tar", "-C", c.Root, "-cf", image, ".").Run())
		c.run(t, "import", image, c.ID)
		t.Cleanup(func() { c.run(t, "rmi", c.ID) })
		c.start(t, "run", "-i", "--rm", "--network", "none", "--hostname", "runctest", "--name", c.ID, c.ID, "sh", "-c",
			"echo started; exec cat")
		check(t, json.Unmarshal(c.run(t, "inspect", "--format", "{{json .State}}", c.ID), &state))
		c.Root = fmt.Sprintf("/proc/%d/root", state.Pid)
	}
	c.PID = state.Pid
	return c
}

// makeRoot makes a root file system.
func makeRoot(t testing.TB, root, busybox string) {
	t.Helper()
	for _, dir := range []string{"bin", "dev", "etc", "proc", "root", "sys", "tmp"} {
		check(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	check(t, os.Chmod(filepath.Join(root, "tmp"), os.ModeSticky|0o777))
	accounts := "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
	check(t, os.WriteFile(filepath.Join(root, "etc/passwd"), []byte(accounts), 0o644))
	program, err := os.ReadFile(busybox)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(root, "bin/busybox"), program, 0o755))
	applets, err := exec.Command(busybox, "--list").Output()
	check(t, err)
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			check(t, os.Symlink("busybox", filepath.Join(root, "bin", applet)))
		}
	}
}

// start runs the container until Stop, or the end of this process, closes its input.
func (c *Container) start(t testing.TB, args ...string) {
	t.Helper()
	cmd, stderr := c.command(args...)
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	c.stop = sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // the container has been deleted
	})
	t.Cleanup(c.stop)
	if _, err := io.ReadFull(stdout, make([]byte, len(started))); err != nil {
		c.stop()
		skip(t, c.line[0]+" cannot start a container here: "+stderr.String())
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
