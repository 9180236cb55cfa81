package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// scenario is something that the soak shows, by figures.
type scenario struct {
	name  string
	shows string
	count int // of a full run
	run   func(*run)
}

// kindsName is the scenario that "all" omits, because it runs the others again.
const kindsName = "kinds"

func scenarios() []scenario {
	return []scenario{
		{"races", "trees of three that are created, killed and released at any moment", 10_000, races},
		{"ptys", "races of trees on a PTY", 2000, ptyRaces},
		{"bursts", "commands that write up to 300 KiB and end at once", 10_000, bursts},
		{"reexecs", "daemons that execute themselves in a loop", 1000, reexecs},
		{"chains", "chains of 50 daemons of which each starts the next, and bounded fork bombs", 40, chains},
		{"strangers", "unrelated processes with the numbers that commands had", 400, strangers},
		{"everything", "seconds of all of it at once, with resources as at the start", 600, everything},
		{kindsName, "races, and other shorter runs, in each kind of host", 1000, kinds},
	}
}

// settings holds the flags.
type settings struct {
	n       int
	scale   float64
	seconds int
	seed    uint64
	procs   int
	host    string
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "children" {
		child(os.Args[2], os.Args[3:])
		return
	}
	ok, err := mainErr()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func mainErr() (ok bool, err error) {
	var s settings
	flag.IntVar(&s.n, "n", 0, "the count of each scenario, or 0 for its own")
	flag.Float64Var(&s.scale, "scale", 1, "the factor for each scenario's own count")
	flag.IntVar(&s.seconds, "seconds", 0, "the time limit of a scenario, or 0 for none")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64N(1e6)+1, "the seed of random choices")
	flag.IntVar(&s.procs, "procs", 4*runtime.NumCPU(), "the number of concurrent runs")
	flag.StringVar(&s.host, "host", "", "the kind of host")
	flag.Usage = usage
	flag.Parse()
	chosen, err := choose(flag.Args())
	if err != nil {
		return false, err
	}
	kind, err := hostKind(s.host)
	if err != nil {
		return false, err
	}
	if os.Getenv(enteredVariable) != s.host {
		return kind.enter()
	}
	undo, err := kind.become()
	if err != nil {
		return false, fmt.Errorf("host %s: %w", s.host, err)
	}
	defer undo()
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "trees.sh"), treesScript, 0o755); err != nil {
		return false, err
	}
	ok = true
	for _, sc := range chosen {
		r := newRun(s, sc, dir)
		r.host = kind
		sc.run(r)
		r.finish()
		fmt.Println(r.line())
		ok = ok && r.ok()
	}
	return ok, nil
}

func choose(names []string) ([]scenario, error) {
	all := scenarios()
	if len(names) == 1 && names[0] == "all" {
		return slices.DeleteFunc(all, func(sc scenario) bool { return sc.name == kindsName }), nil
	}
	if len(names) == 0 {
		usage()
		return nil, fmt.Errorf("no scenario is named")
	}
	var chosen []scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func usage() {
	w := flag.CommandLine.Output()
	fmt.Fprint(w, `usage: soak [FLAG...] all | SCENARIO...

Starts thousands of commands, and looks for what remains of them in /proc. It needs root.

  soak -scale 0.01 all
  soak -host init -n 200 races bursts
  soak -seconds 60 everything

`)
	flag.VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(w, "  -%-8s %s (%s)\n", f.Name, f.Usage, cmp.Or(f.DefValue, "none"))
	})
	fmt.Fprintln(w, "\nscenarios:")
	for _, sc := range scenarios() {
		fmt.Fprintf(w, "  %-11s %9d  %s\n", sc.name, sc.count, sc.shows)
	}
	fmt.Fprintln(w, "\nkinds of host:")
	for _, k := range hostKinds() {
		fmt.Fprintf(w, "  %-16s %s\n", k.name, k.shows)
	}
}

// count returns how many items of a scenario to run.
func (s settings) count(sc scenario) int {
	if s.n > 0 {
		return s.n
	}
	return max(1, int(math.Round(float64(sc.count)*s.scale)))
}

// deadline returns the latest end of a scenario that begins now, or the zero time if unlimited.
func (s settings) deadline() time.Time {
	if s.seconds == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(s.seconds) * time.Second)
}
