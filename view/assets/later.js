// What a page loads only when it is needed: all retained output, finding, the first error, and groups of lines.
export { Finder } from './finder.js'
export { isError } from './firsterror.js'
export { Groups } from './groups.js'
export { History } from './history.js'
