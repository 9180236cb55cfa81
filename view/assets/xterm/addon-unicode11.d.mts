// The types of addon-unicode11.mjs, for tsc.
import { ITerminalAddon } from '@xterm/xterm'

export const Unicode11Addon: new () => ITerminalAddon
