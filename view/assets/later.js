// What a page loads only when it is needed: all retained output, finding, the first error, groups of lines, their
// times, and the widths of emoji.
export { Finder } from './finder.js'
export { Folds } from './folds.js'
export { Seeker } from './seek.js'
export { Times } from './times.js'
export { Unicode11Addon } from './xterm/addon-unicode11.mjs'
