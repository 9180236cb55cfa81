package lawtest

import (
	"maps"

	"github.com/acpterm/acpterm/internal/linuxtest"
)

// systemChildren returns the children for this system's tests: those for Linux only.
func systemChildren() map[string]func(args []string) {
	linuxtest.Main() // does not return in the first process of a test's PID namespace
	all := make(map[string]func(args []string))
	all["busy"] = busyChild
	all["host-with-anothers-process"] = hostWithAnothersProcess
	all["survivor-host"] = survivorHost
	all["untouchable"] = untouchable
	all["host-of-failures"] = hostOfFailures
	all["host-that-is-stopped"] = hostThatIsStopped
	all["host-of-a-small-cgroup"] = hostOfASmallCgroup
	all["host-without-files"] = hostWithoutFiles
	maps.Copy(all, limitChildren())
	maps.Copy(all, outputChildren())
	all["host-that-reaps"] = hostThatReaps
	all["host-that-reaps-agents"] = hostThatReapsAgents
	all["host-of-trees"] = hostOfTrees
	all["tree-host"] = treeHost
	all["traced-host"] = tracedHost
	all["headless"] = headless
	all["foreign-host"] = foreignHost
	all["foreign-parent"] = foreignParent
	all["foreign-twin"] = foreignTwin
	all["host-that-ignores"] = hostThatIgnores
	return all
}
