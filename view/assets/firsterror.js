// The first line of an output that tells of an error.

// No sign takes more than a time proportional to the length of a line, which can be millions of characters.
const signs = [
  /(?:^|[\s\]:"'(])(?:\w*error|\w*exception|fatal|panic)(?:\s?[[(][\w-]+[\])])?:/i, // error: error[E0308]: TypeError: fatal:
  /^\s*-{3} FAIL|^\s*(?:FAIL|FAILED|ERROR)\b|\bFAILED$|^\s*not ok \d|^\s*[✗✖✘×]\s|^\s*●\s|Traceback \(most recent call last\)/,
  /^(?:::|##\[)error\b|^npm (?:ERR!|error)|^[^*]*\*{3} .*Error \d+$|command not found$|No such file or directory$/,
  /exit(?:ed)?(?: with)? (?:code|status) [1-9]|non-?zero exit|Segmentation fault|core dumped/i,
]

// isError reports whether a line tells of an error.
export function isError(line) {
  return !/^\s*(?:0|no) errors?\b/i.test(line) && signs.some(sign => sign.test(line))
}
