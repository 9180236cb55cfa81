package acpterm_test

import "maps"

// systemChildren are the children for this system's tests: the nasty ones, and those that only Linux has tests for.
func systemChildren() map[string]func(args []string) {
	all := nastyChildren()
	all["journal-host"] = journalHost
	all["behind"] = behind
	all["half-naked"] = halfNaked
	all["spawns"] = spawns
	all["recover"] = recoverHere
	all["survivor-host"] = survivorHost
	all["untouchable"] = untouchable
	all["namespace-init"] = namespaceInit
	all["namespace-runner"] = namespaceRunner
	all["host-that-forks"] = hostThatForks
	all["host-that-is-flooded"] = hostThatIsFlooded
	maps.Copy(all, limitChildren())
	return all
}
