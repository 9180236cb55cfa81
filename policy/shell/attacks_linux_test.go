package shell_test

// Attacks through links in /proc, whose targets differ between host and command.

import "testing"

func TestLinksOfProc(t *testing.T) {
	checkAttacks(t, []attack{
		{name: "program", line: "/proc/self/cwd/git log", hostDir: "{bin}"},
		{name: "program of a thread", line: "/proc/thread-self/cwd/git log", hostDir: "{bin}"},
		{name: "program behind env", line: "env", args: []string{"/proc/self/cwd/git", "log"}, hostDir: "{bin}"},
		{name: "program in a shell", line: "sh -c '/proc/self/cwd/git log'", hostDir: "{bin}"},
		{name: "program, upwards", line: "/proc/self/../self/cwd/git log", hostDir: "{bin}"},
		{name: "program behind a link", line: "./self/git log", hostDir: "{bin}"},
		{name: "file", line: "printf x > /proc/self/cwd/file", hostDir: "{root}/sub", options: mayWrite},
		{name: "file, upwards",
			line: "printf x > /proc/self/../self/cwd/file", hostDir: "{root}/sub", options: mayWrite},
		{name: "file of a thread",
			line: "printf x > /proc/thread-self/cwd/file", hostDir: "{root}/sub", options: mayWrite},
		{name: "file behind a link", line: "printf x > self/file", hostDir: "{root}/sub", options: mayWrite},
		{name: "file above", line: "printf x > self/../owned", hostDir: "{root}/sub/sub", options: mayWrite},
		{name: "file that is read",
			line: "read -r x < /proc/self/cwd/../outside/secret; echo \"$x\"", hostDir: "{root}/sub", options: mayRead},
	})
}
