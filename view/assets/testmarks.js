// Groups of lines in the output of test runners: a test of Go, a section or a failure of pytest, a file of Jest, and the
// tests or a failure of cargo. Their headings are the lines as written.

// begins are the lines that begin a group, with its title, its name, and the names of the groups that it ends.
const begins = [
  { sign: /^=== (?:RUN {3}|CONT {2}|NAME {2})([^\s/]+)$/, name: 'test go', ends: ['test go'] },
  { sign: /^={3,} (.+?) ={3,}$/, name: 'test section', ends: ['test section', 'test failure'] },
  { sign: /^_{3,} (.+?) _{3,}$/, name: 'test failure', ends: ['test failure'] },
  { sign: /^((?:PASS|FAIL) \S+\.[cm]?[jt]sx?)(?: \(.*\))?$/, name: 'test file', ends: ['test file'] },
  { sign: /^(running \d+ tests?)$/, name: 'test crate', ends: ['test crate', 'test case'] },
  { sign: /^---- (\S+) stdout ----$/, name: 'test case', ends: ['test crate', 'test case'] },
]

// endsTests matches a line after the tests.
const endsTests = /^(?:PASS|FAIL|ok)(?:$|\t| {2})|^exit status |^={3,} .* in [\d.:]+ ?s?.* ={3,}$|^(?:Test Suites|Tests):|^test result: |^failures:$/

/**
 * testMarkOf returns what a line of a test runner marks, or null. open are the groups around it.
 * @returns {import('./groups.js').Mark | null}
 */
export function testMarkOf(line, open) {
  const text = line.replace(/\x1b\[[\d;]*m|\r$/g, ''), last = open.findLast(group => group.name?.startsWith('test '))
  if (last && endsTests.test(text)) return { ends: true, name: open.find(group => group.name?.startsWith('test ')).name, rest: line }
  for (const { sign, name, ends } of begins) {
    const title = sign.exec(text)?.[1]
    if (title && !endsTests.test(text) && !(last?.name === name && last.title === title)) return { begins: true, title, name, closes: ends, text: line.replace(/\r$/, '') }
  }
  return null
}
