// The texts that begin a mark of groups.js, which a page loads when the first of them arrives.

const words = ['group', 'endgroup', 'error', 'warning', 'notice', 'debug']
const marks = ['section_start:', 'section_end:', '=== RUN   ', '=== CONT  ', '=== NAME  ', ...words.flatMap(word => [`::${word}`, `##[${word}]`])]
const anyMark = RegExp(`(?:::|##\\[)(?:${words.join('|')})|section_(?:start|end):|^(?:=== (?:RUN|CONT|NAME) |(?:PASS|FAIL) \\S+\\.\\w+|running \\d+ test|(?:={3,}|_{3,}|----) .* (?:=|_|-){3,})`, 'm')

// maxMark is how many characters a line with a mark has at most.
export const maxMark = 1000

// mayLink reports whether a text may have links: addresses, or places in files if the user has an editor.
export function mayLink(text, row) { return /https?:\/\//.test(text) || !!row?.editor && /\.\w+(?:\x1b\[[\d;]*m)*(?:[:(]|", line )(?:\x1b\[[\d;]*m)*\[?\d/.test(text) }

// mayMark reports whether a text may have marks.
export function mayMark(text) {
  return anyMark.test(text) || isHeld(text.slice(text.lastIndexOf('\n') + 1))
}

// mayPrompt reports whether a text may have marks of prompts, and promptTail returns an unfinished one at its end.
export function mayPrompt(text) { return /\x1b\][16]33;|\x1b(?:\](?:[16]3{0,2})?)?$/.test(text) }

export const promptTail = text => /\x1b(?:\](?:[16](?:3(?:3(?:;[^\x07\x1b]{0,999}\x1b?)?)?)?)?)?$/.exec(text.slice(-maxMark))?.[0] ?? ''

// isHeld reports whether an unfinished line can become a mark. An "s" or "=" alone is shown, as it may be a
// sign of progress.
export function isHeld(line) {
  if (!line || line.length >= maxMark) return false
  const text = line.replace(/^(?:\x1b\[[\d;]*[mK])+/, '')
  if (/^[s=]$/.test(text)) return false
  return /^\x1b(?:\[[\d;]*)?$/.test(text) || marks.some(mark => mark.startsWith(text.slice(0, mark.length)))
}
