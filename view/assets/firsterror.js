// The signs of errors and warnings: which line of an output is the first error, and which lines have a colour.

// mayTell matches a text that may have a sign. A page loads what needs the signs when the first such text arrives.
export const mayTell = /error|exception|fatal|panic|warning|fail|not ok|[✗✖✘×●]|traceback|err!|not found|no such|exit|segment|dumped|denied|not recog|undefined|no rule|\.go:\d+:\d|:\d+:\d+: [a-z]{1,4}[\d:]|^[a-z]{1,3}\d{3,4} |^e: /im

// No sign takes more than a time proportional to the length of a line, which can be millions of characters.
const signs = [
  /(?:^|[\s\]:"'(])(?:error|exception|fatal|panic)(?:\s?[[(][\w-]+[\])])?:|(?:^|\s)error\s[A-Z]+\d+:/i, // error: error[E0308]: fatal: error TS2322:
  /(?:^|[\s\].:"'(])\w+(?:[Ee]xception|E(?:rror|RROR)|_error)(?:\s?[[(][\w-]+[\])])?:/, // TypeError:
  /^\s*-{3} FAIL|^\s*(?:FAIL|FAILED|FAILURE|ERROR)\b|\bFAILED$|^\s*not ok \d|^\s*[✗✖✘×]\s|^\s*●\s|Traceback \(most recent call last\)/,
  /^(?:::|##\[)error\b|^npm (?:ERR!|error)|^[^*]*\*{3} (?:.*Error \d+$|No rule )|No such file or directory$|: [Pp]ermission denied$/,
  /command not found(?:$|: )|^\S*(?:sh|: (?:line )?\d+): .*: not found$|is not recognized as (?:an internal|(?:the|a) name) /, // of shells
  /^\[(?:ERROR|error)\]|^\[ {2}FAILED {2}\]|^\s*Failure\/Error:|^[Ee]: |^CMake Error\b|^\s+\d+:\d+\s+(?:error|✖)\s|^E {3,}\S|^thread .* panicked at |: undefined reference to /, // Maven and sbt, GoogleTest, RSpec, Kotlin and apt, ESLint, pytest, Rust, ld
  /^(?:vet: )?\S+\.go:\d+:\d+: (?!(?:(?:can|cannot) inline|inlining|moved to heap|leaking|warning:|note:)|.*(?: escapes to heap| does not escape)\b)/, // Go, and its linters
  /^\S+:\d+:\d+: (?:[A-Z]{1,4}\d{2,4}:?|[A-Z]:) |^(?:[BEFNSW]|PL[CEW]|SIM|UP|RUF)\d{3,4} \S/, // Ruff, Flake8, Pylint, RuboCop
  /exit(?:ed)?(?: with)? (?:code|status) [1-9]|non-?zero exit|Segmentation fault|core dumped/i,
]

// isError reports whether a line tells of an error.
export function isError(line) {
  return !/^\s*(?:0|no) errors?\b/i.test(line) && signs.some(sign => sign.test(line))
}

// summaries are lines that only say that there were errors.
const summaries = [
  /^\s*(?:FAIL|FAILED|FAILURE|ERROR)\s*$|^FAIL\t|^exit status \d|\bexit(?:ed)?(?: with)? (?:code|status) [1-9]|non-?zero exit/i, // Go, others
  /^\S*make(?:\[\d+\])?: \*{3} .*Error \d+|^ninja: |^npm (?:ERR!|error) (?:code|errno|path|command|A complete log|Lifecycle|\s)/,
  /^error: (?:could not compile|test failed|aborting due to|Recipe )|^error Command failed|^test result: FAILED/, // cargo, just, yarn
  /^Found \d+ errors?\b|^\s*[✖✗] \d+ problems?\b|^\d+ errors? generated|^=+ .*\b(?:failed|errors?)\b.* =+$|^(?:Tests|Test Suites):/, // tsc, ESLint, clang, pytest, Jest
  /^\[ERROR\]\s*$|^\[ERROR\] (?:-> |To see|Re-run|For more|Failed to execute goal)|^FAILURE: Build failed/, // Maven, Gradle
]

// isSummary reports whether a line that tells of an error only sums up others.
export function isSummary(line) { return summaries.some(sign => sign.test(line)) }

// place matches a file's name with a line, and perhaps a column: a.go:3:7, a.ts(3,7):, a.py", line 3, A.java:[3,7]. In
// code, a.at(3) is none.
const place = /((?:[A-Za-z]:)?[\w@.+~\\/-]*\w\.[A-Za-z]\w*)(?::(\d+)(?::(\d+))?|\((\d+)(?:, ?(\d+))?\)(?=: | : | (?:[Ee]rror|[Ww]arning)\b)|", line (\d+)|:\[(\d+),(\d+)\])/

// placesIn returns the places in a text: { index, text, file, line, column }.
export function placesIn(text) {
  if (text.length > maxLine || !/\d/.test(text)) return []
  return [...text.matchAll(new RegExp(place, 'g'))].filter(({ index }) => !/(?:^|[\s"'(=])\w+:\/\/\S*$/.test(text.slice(0, index))).map(found => {
    const [all, file, l1, c1, l2, c2, l3, l4, c4] = found
    return { index: found.index, text: all, file, line: Number(l1 ?? l2 ?? l3 ?? l4), column: Number(c1 ?? c2 ?? c4 ?? 0) }
  })
}

// placeIn returns the first place in a text, or undefined.
export const placeIn = text => placesIn(text)[0]

const maxLine = 2000 // characters of a line with places

// isWarning reports whether a line begins as a warning.
export function isWarning(line) { return /^\s*warning(?:\[[\w-]+\])?:\s/i.test(line) }
