// What a page loads only when it is needed: all retained output, finding, the errors, groups of lines, colours of errors,
// the output as text for screen readers, the times and the number of lines, lines that are written again or wrap, links,
// what is typed, keys for phones, links by keyboard, and the widths of emoji.
export { countLines } from './counting.js'
export { Errors } from './errors.js'
export { Finder } from './finder.js'
export { Folds } from './folds.js'
export { KeyBar } from './keys.js'
export { LineTimes } from './linetimes.js'
export { linksAt, underline } from './links.js'
export { pickLine } from './picking.js'
export { Seeker } from './seek.js'
export { resizer, sender } from './sending.js'
export { Times } from './times.js'
export { wrapLines } from './returns.js'
export { tint } from './tints.js'
export { Transcript } from './transcript.js'
export { Unicode11Addon } from './xterm/addon-unicode11.mjs'
