// What a page loads only when a user asks for it: all retained output, finding, and the first error.
export { Finder } from './finder.js'
export { isError } from './firsterror.js'
export { History } from './history.js'
