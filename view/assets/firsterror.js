// The signs of errors and warnings: which line of an output is the first error, and which lines have a colour.

// mayTell matches a text that may have a sign. A page loads what needs the signs when the first such text arrives.
export const mayTell = /error|exception|fatal|panic|warning|fail|not ok|[✗✖✘×●]|traceback|err!|not found|no such|exit|segment|dumped|denied|not recog|undefined|not used|no rule/i

// No sign takes more than a time proportional to the length of a line, which can be millions of characters.
const signs = [
  /(?:^|[\s\]:"'(])(?:error|exception|fatal|panic)(?:\s?[[(][\w-]+[\])])?:|(?:^|\s)error\s[A-Z]+\d+:/i, // error: error[E0308]: fatal: error TS2322:
  /(?:^|[\s\].:"'(])\w+(?:[Ee]xception|E(?:rror|RROR)|_error)(?:\s?[[(][\w-]+[\])])?:/, // TypeError:
  /^\s*-{3} FAIL|^\s*(?:FAIL|FAILED|FAILURE|ERROR)\b|\bFAILED$|^\s*not ok \d|^\s*[✗✖✘×]\s|^\s*●\s|Traceback \(most recent call last\)/,
  /^(?:::|##\[)error\b|^npm (?:ERR!|error)|^[^*]*\*{3} (?:.*Error \d+$|No rule )|No such file or directory$|: [Pp]ermission denied$/,
  /command not found(?:$|: )|^\S*(?:sh|: (?:line )?\d+): .*: not found$|is not recognized as (?:an internal|(?:the|a) name) /, // of shells
  /^\[ERROR\]|^CMake Error\b|^\s+\d+:\d+\s+(?:error|✖)\s|^E {3,}\S|^thread .* panicked at |: undefined reference to /, // Maven, ESLint, pytest, Rust, ld
  /^(?:vet: )?\S+\.go:\d+:\d+: (?:undefined: |declared and not used|.* imported and not used)/,
  /exit(?:ed)?(?: with)? (?:code|status) [1-9]|non-?zero exit|Segmentation fault|core dumped/i,
]

// isError reports whether a line tells of an error.
export function isError(line) {
  return !/^\s*(?:0|no) errors?\b/i.test(line) && signs.some(sign => sign.test(line))
}

// isWarning reports whether a line begins as a warning.
export function isWarning(line) { return /^\s*warning(?:\[[\w-]+\])?:\s/i.test(line) }
