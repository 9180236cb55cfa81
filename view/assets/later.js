// What a page loads only when it is needed: all retained output, finding, the first error, groups of lines, the
// colours of errors, the times of lines, keys for phones, and the widths of emoji.
export { Finder } from './finder.js'
export { Folds } from './folds.js'
export { KeyBar } from './keys.js'
export { Seeker } from './seek.js'
export { Times } from './times.js'
export { tint } from './tints.js'
export { Unicode11Addon } from './xterm/addon-unicode11.mjs'
