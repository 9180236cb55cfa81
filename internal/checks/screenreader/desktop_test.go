package screenreader

// A desktop with its own display and buses, where Orca and Firefox run.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// timeout bounds the wait for each text. Only a failing test takes that long.
const timeout = 2 * time.Minute

// desktop is for one goroutine.
type desktop struct {
	t     *testing.T
	m     *acpterm.Manager // runs the programs
	env   []string
	said  <-chan string
	heard []string
}

// bus is the configuration of a bus with a directory for its socket and its services.
const bus = `<busconfig><type>session</type><listen>unix:dir=%[1]s</listen><servicedir>%[1]s</servicedir><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`

// files are those of the home directory. Orca does not take a slow machine for one that hangs, and Firefox opens no other
// page.
var files = map[string]string{
	"orca/orca-customizations.py": "import orca.settings\norca.settings.timeoutTime = 0\n",
	"profile/user.js": `user_pref("accessibility.force_disabled", -1);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("browser.newtab.preload", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
`}

// startDesktop starts Orca, and Firefox with a page. They end with the test.
func startDesktop(t *testing.T, url string) *desktop {
	dir, err := os.MkdirTemp("", "acpterm-orca-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	speech := filepath.Join(dir, "speech")
	d := &desktop{t: t, said: startSynthesizer(t, speech), m: acptermtest.NewManager(t, nil)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(strings.Join(append([]string{"Orca has said:"}, d.heard...), "\n"))
		}
	})
	for name, text := range files {
		require.NoError(t, os.Mkdir(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	// The bus has no other service. Portals, for example, would mount a file system.
	service := "org.a11y.Bus.service"
	require.NoError(t, os.Symlink("/usr/share/dbus-1/services/"+service, filepath.Join(dir, service)))
	config := filepath.Join(dir, "bus.conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, bus, dir), 0o600))

	d.env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_RUNTIME_DIR="+dir, "XDG_CACHE_HOME="+dir,
		"XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "SPEECHD_ADDRESS=unix_socket:"+speech, "GSETTINGS_BACKEND=memory",
		"LC_ALL=C.UTF-8", "GNOME_ACCESSIBILITY=1", "NO_AT_BRIDGE=0", "GDK_BACKEND=x11", "MOZ_CRASHREPORTER_DISABLE=1")
	display := d.firstLine("Xvfb", "-displayfd", "1", "-r", "-nolisten", "tcp", "-screen", "0", "1200x900x24")
	d.env = append(d.env, "DISPLAY=:"+display) // keys do not repeat themselves there, however slow the machine is
	address := d.firstLine("dbus-daemon", "--config-file", config, "--nofork", "--print-address")
	d.env = append(d.env, "DBUS_SESSION_BUS_ADDRESS="+address)
	d.start("orca")
	d.await("Screen reader on")
	firefox := "firefox-esr"
	if _, err := exec.LookPath(firefox); err != nil {
		firefox = "firefox"
	}
	d.start(firefox, "--no-remote", "--profile", filepath.Join(dir, "profile"), "--kiosk", url)
	return d
}

// start starts a program.
func (d *desktop) start(program string, args ...string) *acpterm.Terminal {
	d.t.Helper()
	terminal, err := d.m.Create(d.t.Context(), acpterm.CreateTerminalRequest{SessionID: "desktop", Command: program, Args: args},
		&acpterm.CommandOptions{Env: d.env})
	require.NoError(d.t, err)
	d.t.Cleanup(func() {
		if d.t.Failed() {
			d.t.Logf("%s: %s", program, terminal.Output().Output)
		}
	})
	return terminal
}

// firstLine starts a program, and returns the first line that is no message of an error.
func (d *desktop) firstLine(program string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), timeout)
	defer cancel()
	text := ""
	for chunk := range d.start(program, args...).Follow(ctx, 0) {
		text += chunk.Text
		for line := range strings.Lines(text) {
			if strings.HasSuffix(line, "\n") && !strings.Contains(line, " ") {
				return strings.TrimSpace(line)
			}
		}
	}
	d.t.Fatalf("%s has only written %q", program, text)
	return ""
}

// press presses keys, one after another.
func (d *desktop) press(keys ...string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), "xdotool", append([]string{"key"}, keys...)...)
	cmd.Env = d.env
	out, err := cmd.CombinedOutput()
	require.NoError(d.t, err, "%s", out)
}

// next waits for the next text.
func (d *desktop) next(want string) string {
	d.t.Helper()
	select {
	case text := <-d.said:
		d.heard = append(d.heard, text)
		return text
	case <-time.After(timeout):
		d.t.Fatalf("Orca does not say %q", want)
		return ""
	}
}

// await waits until texts are said one after another, together or not. Others may be said, too.
func (d *desktop) await(texts ...string) {
	d.t.Helper()
	said := ""
	for _, text := range texts {
		for !strings.Contains(said, text) {
			said = d.next(text)
		}
		_, said, _ = strings.Cut(said, text)
	}
}

// choose presses Return until a text is said, and returns all that is said with it. On a slow machine, Orca may forget it
// for a late event.
func (d *desktop) choose(text string) string {
	d.t.Helper()
	for range 5 {
		d.press("Return")
		for retry := time.After(timeout / 6); ; {
			select {
			case said := <-d.said:
				d.heard = append(d.heard, said)
				if strings.Contains(said, text) {
					return said
				}
				continue
			case <-retry:
			}
			break
		}
	}
	d.t.Fatalf("Orca does not say %q", text)
	return ""
}

// tabTo presses Tab once for each of these elements, which get the focus one after another.
func (d *desktop) tabTo(elements ...string) {
	d.t.Helper()
	for _, element := range elements {
		d.press("Tab")
		d.await("tab ", element) // the key's echo, and the element
	}
}
