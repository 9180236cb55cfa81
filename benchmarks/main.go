// Benchmarks measures acpterm beside what cannot be done without (the floor) and beside what else one could use (the
// peers), and prints a table:
//
//	go run ./benchmarks [-quick] [-rounds N] [-only REGEXP] [-subjects REGEXP] [-plots DIR]
//
// The speed of a shared machine drifts, so nothing here is compared with another run: in each round every subject has
// its turn, one after the other, and what counts is the ratio of their minima or medians over all rounds.
//
// The rows are in files of their own, row_*.go; so are the peers and the floors. With -cpuprofile, -allocs or -blocking DIR
// there are profiles of what ran, of each process one. In those of processors a subject is the value of the label "subject":
//
//	go run ./benchmarks -only 'create' -cpuprofile DIR
//	go tool pprof -tagfocus subject=acpterm DIR/benchmarks-*.cpu
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

func main() {
	if child(os.Args) {
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run() error {
	keepDescriptors()
	var s settings
	var plots string
	var profiles profiles
	quick := flag.Bool("quick", false, "fewer rounds of less")
	flag.IntVar(&s.rounds, "rounds", 0, "rounds of each row; 0: as many as the row wants")
	only := flag.String("only", "", "measure only rows whose names match this regular expression")
	subjects := flag.String("subjects", "", "measure only subjects whose names match this regular expression")
	flag.StringVar(&plots, "plots", "", "write plots, as SVG, into this directory")
	flag.StringVar(&profiles.cpu, "cpuprofile", "", "write CPU profiles into this directory")
	flag.StringVar(&profiles.allocs, "allocs", "", "write profiles of every allocation into this directory")
	flag.StringVar(&profiles.blocking, "blocking", "", "write profiles of what goroutines wait for into this directory")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *quick {
		s.scale = quickScale
	}
	onlyRows, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if s.subjects, err = regexp.Compile(*subjects); err != nil {
		return err
	}
	for _, dir := range []string{plots, profiles.cpu, profiles.allocs, profiles.blocking} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	stop, err := profiles.begin("benchmarks")
	if err != nil {
		return err
	}
	defer stop()
	s.profiles = profiles

	fmt.Printf("%s\n\n%s", describeMachine(), tableHead)
	failed := false
	for _, r := range slices.DeleteFunc(rows(), func(r row) bool { return !onlyRows.MatchString(r.name) }) {
		result := r.measure(s)
		fmt.Print(result.markdown())
		failed = failed || result.failure() != nil
		if plots != "" && r.plot.name != "" {
			if err := os.WriteFile(filepath.Join(plots, r.plot.name+".svg"), result.svg(), 0o666); err != nil {
				return err
			}
		}
	}
	if failed {
		return fmt.Errorf("not everything could be measured")
	}
	return nil
}

// rows are all there are, in the order of the table.
func rows() []row {
	return slices.Concat(captureRows(), startRows(), wireRows(), outputRows(), idleRows(), exitRows(), killRows(), memoryRows(),
		followRows(), crowdRows(), growthRows())
}
