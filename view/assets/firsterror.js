// The signs of errors and warnings: which line of an output is the first error, and which lines have a colour.

// mayTell matches a text that may have a sign. A page loads what needs the signs when the first such text arrives.
export const mayTell = /error|exception|fatal|panic|warning|fail|not ok|[✗✖✘×●]|traceback|err!|not found|no such|exit|segment|dumped/i

// No sign takes more than a time proportional to the length of a line, which can be millions of characters.
const signs = [
  /(?:^|[\s\]:"'(])(?:error|exception|fatal|panic)(?:\s?[[(][\w-]+[\])])?:/i, // error: error[E0308]: fatal:
  /(?:^|[\s\].:"'(])\w+(?:[Ee]xception|E(?:rror|RROR)|_error)(?:\s?[[(][\w-]+[\])])?:/, // TypeError:
  /^\s*-{3} FAIL|^\s*(?:FAIL|FAILED|ERROR)\b|\bFAILED$|^\s*not ok \d|^\s*[✗✖✘×]\s|^\s*●\s|Traceback \(most recent call last\)/,
  /^(?:::|##\[)error\b|^npm (?:ERR!|error)|^[^*]*\*{3} .*Error \d+$|command not found$|No such file or directory$/,
  /exit(?:ed)?(?: with)? (?:code|status) [1-9]|non-?zero exit|Segmentation fault|core dumped/i,
]

// isError reports whether a line tells of an error.
export function isError(line) {
  return !/^\s*(?:0|no) errors?\b/i.test(line) && signs.some(sign => sign.test(line))
}

// isWarning reports whether a line begins as a warning.
export function isWarning(line) { return /^\s*warning(?:\[[\w-]+\])?:\s/i.test(line) }
