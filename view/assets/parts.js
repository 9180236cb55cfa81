// The elements in the shadow root of <acp-terminal>.
import { element } from './text.js'
import { menuOf } from './menu.js'

// build creates the element's children.
export function build(root, onMenu) {
  const p = {}
  const button = (text, properties) => element('button', { type: 'button', textContent: text, ...properties })
  const choice = (sign, name, key) => button('', {
    class: 'choice', 'data-sign': sign, 'aria-pressed': 'false', 'aria-label': name, title: `${name} (Alt+${key})`,
  })
  p.state = element('span', { class: 'state' })
  p.command = element('code', { class: 'command', role: 'heading', 'aria-level': '2' })
  p.more = button('', { class: 'more', hidden: true })
  p.numbers = element('ul', { class: 'numbers', 'aria-label': 'About this command' })
  p.owner = element('span', { class: 'owner' })
  p.note = element('p', { class: 'note' })
  p.problem = element('p', { class: 'note problem' })
  p.reader = button('Screen reader', { class: 'reader', 'aria-pressed': 'false' })
  p.findButton = button('Find', { 'aria-expanded': 'false', 'aria-controls': 'find' })
  p.wrap = button('Wrap', { class: 'wrap', 'aria-pressed': 'true', hidden: true, title: 'Wrap long lines to the width of the window' })
  p.full = button('', { class: 'full', 'aria-label': 'Full screen', 'aria-pressed': 'false', title: 'Full screen', hidden: !document.fullscreenEnabled })
  p.firstError = button('First error', { class: 'first-error', hidden: true, title: 'Show the first error (F8: next, Shift+F8: previous)' })
  p.copy = button('More', { class: 'copy' })
  p.copyOutput = button('Copy output', { class: 'copy-output' })
  p.copyCommand = button('Copy command', { class: 'copy-command' })
  p.copyLink = button('Copy link to this terminal', { class: 'copy-link' })
  p.foldAll = button('Fold groups', { class: 'fold-all' })
  p.times = button('Show timestamps', { class: 'show-times', 'aria-checked': 'false' })
  p.whole = element('a', { class: 'whole', textContent: 'Open as text', target: '_blank', rel: 'noopener' })
  p.background = button('Move to background', { class: 'to-background' })
  p.download = element('a', { class: 'whole download', textContent: 'Download', download: '' })
  p.since = button('Show time since the start', { class: 'show-since', 'aria-checked': 'false' })
  // These buttons are in the menu of a narrow pane.
  p.narrow = [[p.findButton, 'Find'], [p.wrap, 'Wrap lines'], [p.full, 'Full screen']].map(([same, text]) => {
    const item = button(text, { class: 'narrow', onclick: () => same.click() })
    if (same.hasAttribute('aria-pressed')) item.setAttribute('aria-checked', 'false')
    return [item, same]
  })
  p.menu = menuOf(p.copy, [...p.narrow.map(([item]) => item), p.copyOutput, p.copyCommand, p.copyLink, p.whole, p.download, p.foldAll, p.times, p.since, p.background], onMenu)
  p.cutText = element('span')
  p.earlier = button('Earlier', { class: 'earlier' })
  p.later = button('Later', { class: 'later' })
  p.cut = element('p', { class: 'cut', hidden: true }, p.cutText, p.earlier, p.later)
  p.stop = button('Stop', { class: 'stop', hidden: true })
  p.findText = element('input', { type: 'search', 'aria-label': 'Find in the output', placeholder: 'Find', spellcheck: false, autocomplete: 'off' })
  p.findCount = element('span', { class: 'count', role: 'status' })
  p.findCase = choice('Aa', 'Match case', 'C')
  p.findWord = choice('ab', 'Whole word', 'W')
  p.findRegex = choice('.*', 'Regular expression', 'R')
  p.findPrevious = button('↑', { 'aria-label': 'Previous' })
  p.findNext = button('↓', { 'aria-label': 'Next' })
  p.findClose = button('✕', { 'aria-label': 'Close' })
  p.findBar = element('div', { class: 'find', id: 'find', role: 'search', hidden: true },
    element('span', { class: 'find-text' }, p.findText, p.findCase, p.findWord, p.findRegex), p.findCount, p.findPrevious, p.findNext, p.findClose)
  p.errors = element('section', { class: 'errors', id: 'errors', 'aria-label': 'Errors', hidden: true }) // Errors fills it
  p.screen = element('div', { class: 'screen' })
  p.message = element('p', { class: 'message' })
  p.gutter = element('div', {
    class: 'gutter', tabIndex: 0, role: 'spinbutton', 'aria-label': 'Link to a line',
    'aria-valuenow': 1, 'aria-valuemin': 1, 'aria-valuetext': 'none',
    title: 'A click, or keys that scroll, link to a line',
  })
  p.loading = element('p', { class: 'loading', role: 'status' })
  p.toEnd = button('↓ Follow', { class: 'to-end off' })
  p.typing = element('p', { class: 'typing', role: 'status', hidden: true })
  p.said = element('div', { class: 'news said', role: 'log' })
  p.about = element('div', { class: 'about' }, p.numbers, p.toEnd)
  p.box = element('section', { class: 'box', 'aria-label': 'Terminal' },
    element('header', {},
      element('div', { class: 'title' }, p.state, p.owner, p.command, p.more),
      element('div', { class: 'tools', role: 'group', 'aria-label': 'Tools' }, p.reader, p.firstError, p.findButton, p.wrap, p.menu, p.full, p.stop),
      p.about, p.cut, p.note, p.problem),
    p.findBar, p.errors,
    element('div', { class: 'body' }, p.gutter, p.screen, p.message, p.loading),
    p.typing, p.said)
  root.replaceChildren(p.box)
  return p
}
