// The types of xterm.mjs, for tsc: those of the npm package.
export { Terminal } from '@xterm/xterm'
