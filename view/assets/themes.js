// The colours of the screen. Its backgrounds match the element's frame in acp-terminal.css.

const onDark = {
  background: '#0f141b', foreground: '#d6dde6', cursor: '#0f141b', cursorAccent: '#d6dde6', selectionBackground: '#2f4a6d',
  black: '#5b6673', red: '#ff7b72', green: '#56d364', yellow: '#e3b341', blue: '#6cb6ff', magenta: '#d2a8ff', cyan: '#56d4dd',
  white: '#d6dde6', brightBlack: '#8b96a3', brightRed: '#ffa198', brightGreen: '#7ee787', brightYellow: '#f2cc60',
  brightBlue: '#96d0ff', brightMagenta: '#e2c5ff', brightCyan: '#8ce5ec', brightWhite: '#ffffff',
  scrollbarSliderBackground: '#8b96a355', scrollbarSliderHoverBackground: '#8b96a388', scrollbarSliderActiveBackground: '#8b96a3aa',
}

const onLight = {
  background: '#ffffff', foreground: '#24292f', cursor: '#ffffff', cursorAccent: '#24292f', selectionBackground: '#b6d6fb',
  black: '#24292f', red: '#c1212b', green: '#116329', yellow: '#7d4e00', blue: '#0550ae', magenta: '#7a35c9', cyan: '#136a75',
  white: '#57606a', brightBlack: '#6b747e', brightRed: '#a40e26', brightGreen: '#1a7f37', brightYellow: '#8a5a00',
  brightBlue: '#0969da', brightMagenta: '#8250df', brightCyan: '#1b7c83', brightWhite: '#424a53',
  scrollbarSliderBackground: '#57606a44', scrollbarSliderHoverBackground: '#57606a77', scrollbarSliderActiveBackground: '#57606a99',
}

// themes returns the colours. The cursor is visible only in a terminal with a PTY.
export function themes(dark, pty) {
  const theme = dark ? onDark : onLight
  return pty ? { ...theme, cursor: theme.foreground, cursorAccent: theme.background } : theme
}
