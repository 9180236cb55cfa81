package shell

// The program find, whose expression can contain commands.

import (
	"slices"
	"strings"
)

// findWords maps the words of find's expression to their number of arguments. Other words that begin with a dash are
// refused: the argument of an unknown test could look like -exec, or hide it.
var findWords = map[string]int{
	"-H": 0, "-L": 0, "-P": 0, "-E": 0, "-X": 0, "-s": 0, "-x": 0, "-O0": 0, "-O1": 0, "-O2": 0, "-O3": 0,
	"-a": 0, "-and": 0, "-o": 0, "-or": 0, "-not": 0, "-daystart": 0, "-depth": 0, "-d": 0, "-follow": 0, "-mount": 0,
	"-xdev": 0, "-noleaf": 0, "-warn": 0, "-nowarn": 0, "-empty": 0, "-executable": 0, "-readable": 0, "-writable": 0,
	"-false": 0, "-true": 0, "-nogroup": 0, "-nouser": 0, "-delete": 0, "-ls": 0, "-print": 0, "-print0": 0,
	"-prune": 0, "-quit": 0, "-ignore_readdir_race": 0, "-noignore_readdir_race": 0,
	"-amin": 1, "-anewer": 1, "-atime": 1, "-cmin": 1, "-cnewer": 1, "-ctime": 1, "-fstype": 1, "-gid": 1, "-group": 1,
	"-ilname": 1, "-iname": 1, "-inum": 1, "-ipath": 1, "-iregex": 1, "-iwholename": 1, "-links": 1, "-lname": 1,
	"-mmin": 1, "-mtime": 1, "-name": 1, "-newer": 1, "-newermt": 1, "-newerat": 1, "-newerct": 1, "-path": 1,
	"-perm":  1,
	"-regex": 1, "-regextype": 1, "-samefile": 1, "-size": 1, "-type": 1, "-uid": 1, "-used": 1, "-user": 1,
	"-wholename": 1, "-xtype": 1, "-maxdepth": 1, "-mindepth": 1, "-printf": 1, "-fls": 1,
	"-fprint": 1, "-fprint0": 1, "-fprintf": 2,
}

// findRuns maps the words in front of a command to whether it runs in the directory of the file.
var findRuns = map[string]bool{"-exec": false, "-ok": false, "-execdir": true, "-okdir": true}

// runFound finds the commands in the arguments of find.
func (w *walker) runFound(args []word) *refusal {
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		if a.dashless() {
			continue // a file, or ( ) ! ,
		}
		if !a.Literal {
			return w.refuseWord(errOption, "may be an option of find", a)
		}
		if a.Text == "" {
			continue
		}
		if moves, ok := findRuns[a.Text]; ok {
			n, err := w.runEach(a, args, moves)
			if err != nil {
				return err
			}
			args = args[n:]
			continue
		}
		n, ok := findWords[a.Text]
		if !ok {
			return w.refuseWord(errOption, "not an option of find that is known", a)
		}
		for range n {
			if len(args) == 0 {
				break
			}
			if !args[0].One {
				return w.refuseWord(errOption, "not exactly one argument", args[0])
			}
			args = args[1:]
		}
	}
	return nil
}

// runEach reads the command after -exec. It returns the number of its words, including its end.
func (w *walker) runEach(exec word, args []word, moves bool) (int, *refusal) {
	end := slices.IndexFunc(args, func(a word) bool { return a.Literal && a.Text == ";" })
	for i := 1; i < len(args) && (end < 0 || i < end); i++ {
		if args[i].Literal && args[i].Text == "+" && args[i-1].Literal && args[i-1].Text == "{}" {
			if strings.HasPrefix(exec.Text, "-ok") {
				return 0, w.refuseWord(errOption, "not every find ends the command here", args[i])
			}
			end = i
		}
	}
	if end < 1 {
		return 0, w.refuseWord(errOption, "a command without an end", exec)
	}
	for _, a := range args[:end] {
		if !a.One {
			return 0, w.refuseWord(errOption, "not exactly one argument", a) // it could contain the end
		}
	}
	command := slices.Clone(args[:end])
	if err := w.replace(command, []string{"{}"}); err != nil {
		return 0, err
	}
	if args[end].Text == "+" {
		command[end-1].One = false
	}
	outer := w.scope
	w.via = slices.Clone(w.via)
	w.via[len(w.via)-1] += " " + exec.Text
	w.moved = w.moved || moves
	err := w.run(command, nil, nil, inProgram)
	w.scope = outer
	return end + 1, err
}
