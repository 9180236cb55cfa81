// The headings of groups on the screen: their buttons, how long the groups were, and their extents beside the output.
import { bisect } from './bisect.js'
import { showExtents } from './extents.js'
import { GroupTimes } from './grouptimes.js'
import { InView } from './inview.js'
import { duration, element } from './text.js'

export class Headings {
  all = [] // the groups with a heading on the screen, each with the marker of its row
  next = null // the id of the group whose heading gets the focus when it is shown
  #gutter
  #screen
  #host
  #isFolded
  #fold
  #times // of groups
  #top = element('button', { type: 'button', class: 'top', tabIndex: -1, ariaHidden: 'true', hidden: true }) // arrow keys lead to headings
  #topGroup = null // the group that goes on at the top of the screen
  #kept = null // the id of the group whose heading has the focus, or had it before its button was made again

  // constructor takes functions that report whether the group with an id is folded, and that fold or unfold it.
  constructor(gutter, screen, host, isFolded, fold) {
    this.#gutter = gutter
    this.#screen = screen
    this.#host = host
    this.#isFolded = isFolded
    this.#fold = fold
    gutter.after(this.#top)
    this.#top.onclick = () => this.#goTo(this.#topGroup)
    this.#top.onmousedown = event => event.preventDefault() // which would take the focus
  }

  // add adds a group whose heading is on the screen. Headings from its row on were overwritten.
  add(group) {
    while (this.all.at(-1)?.marker.line >= group.marker.line) this.all.pop()
    this.all.push(group)
  }

  // open makes the headings on a new screen buttons.
  open() {
    const inView = new InView(this.#screen.xterm, (first, last) => this.#decorations(first, last))
    this.#times = new GroupTimes(this.#screen, this.#host, () => inView.draw())
  }

  // close forgets the output.
  close() {
    this.all = []
    this.#top.hidden = true
    this.#gutter.style.background = this.#gutter.dataset.groups = ''
  }

  // decorations returns the buttons of the headings in some rows, and how long their groups were. It also shows the
  // extents of the groups in these rows.
  #decorations(first, last) {
    const { xterm, numbers, reads } = this.#screen
    const { cols, buffer: { active } } = xterm, pty = this.#screen.kind === 'pty'
    if (active.type !== 'normal') { // a full screen has no headings
      this.#showTop([])
      return []
    }
    const numberOf = row => pty ? row + numbers.rows.dropped + 1 : numbers.of(row)
    const extentOf = (group, number) => group.prompt ? extentOfPrompt(group, numberOf) : extentOfGroup(group, number)
    const { activeElement } = xterm.element.getRootNode()
    if (activeElement?.dataset.group) this.#kept = activeElement.dataset.group
    else if (activeElement !== xterm.textarea || this.#kept && this.#buttonOf(this.#kept)) this.#kept = null // the user has moved it
    const focused = this.next ?? this.#kept
    const inView = numbers.inView()
    const extents = []
    let next = bisect(this.all, ({ marker }) => marker.line >= first)
    const above = this.all[next - 1], at = above ? numberOf(above.marker.line) : 0
    const around = []
    for (let group = above; group; group = group.parent) {
      const extent = extentOf(group, at && at - above.line + group.line)
      extents.push(extent)
      if (extent[0] <= numberOf(first) && numberOf(first) <= extent[1]) around.unshift(group)
    }
    this.#showTop(pty && this.#screen.following ? [] : around)
    const found = []
    for (; this.all[next]?.marker.line <= last; next++) {
      const group = this.all[next], { id, marker: { line: row } } = group
      const number = inView[row - first] || 0
      if (!isThere(group, active.getLine(row))) continue
      extents.push(extentOf(group, number))
      const text = textOf(group, pty ? group.folded && countOf(group) : this.#lengthOf(group, number))
      const name = nameOf(group, text)
      const room = cols - columnsOf(active.getLine(row)) - 2
      const fits = labelsOf(group, text).find(label => label && label.length <= room), label = fits ?? (group.prompt ? sign(group) : '')
      const x = Math.max(0, cols - label.length - 1), width = label.length + 1, failed = !!group.hidesError || !!group.status
      const button = group.prompt && !matchMedia('(pointer: coarse)').matches ? { x, width } : { width: cols } // the user can select its text
      found.push({ row, ...button, name, id, reads, show: shown => this.#showButton(shown, name, id, id === focused, group.prompt) })
      if (label) found.push({ row, x, width, label, show: shown => showLabel(shown, label, failed, xterm.options.fontSize, fits ? '' : 'var(--acp-surface)') })
    }
    if (!found.some(({ id }) => id === this.#kept)) this.#kept = null
    if (!pty) showExtents(this.#gutter, numbers.of(first), inView, extents)
    return found
  }

  // showTop keeps the heading of the group at the top of the screen in view. around are the groups, from the outermost.
  #showTop(around) {
    this.#topGroup = around.at(-1)
    this.#top.hidden = !around.length
    if (!around.length) return
    const { xterm, kind } = this.#screen, { element, options } = xterm, { parentNode: pane, offsetLeft, offsetTop } = element
    const text = `▾ ${around.map(({ title }) => title).join(' › ')}`
    if (this.#top.textContent !== text) this.#top.textContent = text
    Object.assign(this.#top.style, {
      left: `${offsetLeft}px`, top: `${offsetTop}px`, width: `${kind === 'pty' ? screenOf(xterm).clientWidth : pane.clientWidth}px`, height: `${cellOf(xterm)}px`,
      fontFamily: options.fontFamily, fontSize: `${options.fontSize}px`,
    })
  }

  // goTo scrolls to the heading of a group.
  #goTo(group) {
    if (!(group?.marker.line >= 0)) return
    this.#screen.leaveEnd()
    this.#screen.xterm.scrollToLine(group.marker.line)
  }

  // lengthOf says how long a group was, in time or else in lines, once it has ended. number is that of its heading.
  #lengthOf(group, number) {
    const { lines } = group
    let { seconds } = group
    if (lines === undefined || group.prompt && !lines) return ''
    if (Number.isNaN(seconds)) seconds = number && this.#times.secondsOf(number, number + lines + 1) || NaN // 0 says little
    if (seconds >= 60) return duration(seconds * 1000)
    return seconds >= 0 ? `${seconds} s` : countOf(group)
  }

  // showButton shows the button of a heading on the screen. Screen readers have another one in the Transcript.
  #showButton(shown, name, id, focused, prompt) {
    if (shown.firstChild) return
    const button = this.button(id)
    button.ariaLabel = name
    button.ariaExpanded = !this.#isFolded(id)
    button.classList.toggle('prompt', !!prompt)
    shown.append(button)
    if (this.#screen.reads) {
      this.next = null
      button.ariaHidden = 'true'
      button.tabIndex = -1
      button.addEventListener('mousedown', event => event.preventDefault()) // which would give it the focus
    } else if (focused) {
      const root = shown.getRootNode(), { textarea } = this.#screen.xterm
      if (root.activeElement === textarea) button.focus({ preventScroll: true })
      if (root.activeElement !== textarea) this.next = this.#kept = null // else the screen has scrolled it away meanwhile
    }
  }

  // button returns a new button that folds or unfolds a group.
  button(id) {
    const button = element('button', {
      type: 'button', class: 'heading',
      onclick: () => this.#fold(id), onmousedown: event => event.stopPropagation(), // which would begin a selection
      onkeydown: event => {
        if (event.altKey || event.ctrlKey || event.metaKey) return
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
        if (!step && !/^(?:Page|Home|End)/.test(event.key)) return
        event.preventDefault()
        if (!step || !this.#focus(id, step)) this.#screen.xterm.textarea.dispatchEvent(new KeyboardEvent('keydown', event)) // which scrolls
      },
    })
    button.dataset.group = id
    return button
  }

  // nameOf returns the name of a group's button, with how long the group was if its marks or lines tell that.
  nameOf(group) { return nameOf(group, textOf(group, this.#lengthOf(group, 0))) }

  // focus gives the focus to the heading before or after that of a group, and scrolls to it if it is out of view. It
  // reports whether there is one.
  #focus(id, step) {
    const next = this.all[this.all.findIndex(heading => heading.id === id) + step]
    const { xterm } = this.#screen, { viewportY } = xterm.buffer.active, row = next?.marker.line
    if (!(row >= 0)) return false
    this.#screen.leaveEnd()
    if (row >= viewportY && row < viewportY + xterm.rows) this.#buttonOf(next.id)?.focus()
    else {
      this.next = next.id
      xterm.scrollToLine(Math.max(0, row - Math.floor(xterm.rows / 3)))
    }
    return true
  }

  // refocus gives the focus to the heading of a group that was folded, unless the user has moved it. The heading may have
  // had it, and lost it while the output after it was written.
  refocus(id) {
    const { xterm: { element, textarea } } = this.#screen
    if (this.#screen.reads || element.getRootNode().activeElement !== textarea) return
    const button = this.#buttonOf(id)
    if (button) button.focus({ preventScroll: true })
    else this.next = id
  }

  #buttonOf(id) {
    return [...this.#screen.xterm.element.querySelectorAll('.heading')].find(button => button.dataset.group === id)
  }
}

// cellOf returns the height of a row.
const cellOf = xterm => screenOf(xterm).clientHeight / xterm.rows
const screenOf = xterm => xterm.element.querySelector('.xterm-screen')

// textOf returns what a heading says about its group, and nameOf the name of its button.
const textOf = (group, length) => [statusOf(group), group.hidesError && 'error', length].filter(Boolean).join(', ')
const nameOf = (group, text) => [group.title, group.parent && `in ${group.parent.title}`, text].filter(Boolean).join(', ')

const statusOf = ({ status }) => status ? `exit code ${status}` : ''
const countOf = ({ lines }) => `${lines} ${lines === 1 ? 'line' : 'lines'}`

// labelsOf returns what may be shown at the end of a heading's row, of which the first that has room is. That of a prompt
// has a sign, because the row is as the shell has written it.
function labelsOf(group, text) {
  if (!group.prompt) return [text, group.hidesError && 'error']
  return [text, statusOf(group)].filter(Boolean).map(text => group.lines === 0 ? text : `${sign(group)} ${text}`)
}
const sign = ({ folded }) => folded ? '▸' : '▾'

// isThere reports whether a heading is in its row. A shell may have erased its command line.
function isThere({ prompt, text }, line) {
  const now = line.translateToString(true)
  return !prompt || !!now && (now.startsWith(text) || text.startsWith(now))
}

// extentOfGroup returns the numbers of the first and the last line of a group whose heading has a number, or 0.
function extentOfGroup({ lines = Infinity }, number) { return number ? [number + 1, number + lines] : [0, -1] }

// extentOfPrompt does that for a group of a prompt, whose end is a place.
function extentOfPrompt({ folded, marker, end }, numberOf) {
  if (folded || !(marker?.line >= 0) || end?.line < 0) return [0, -1]
  return [numberOf(marker.line) + 1, end ? numberOf(end.line - 1) : Infinity]
}

// columnsOf returns how many columns of a row have text.
function columnsOf(line) {
  let columns = line.length
  while (columns && !line.getCell(columns - 1).getCode() && line.getCell(columns - 1).getWidth()) columns--
  return columns
}

function showLabel(shown, text, bad, fontSize, background) {
  // The button has the text in its name.
  Object.assign(shown.style, { fontSize: `${Math.min(12, fontSize)}px`, background })
  Object.assign(shown, { textContent: text, className: `xterm-decoration match label${bad ? ' bad' : ''}`, ariaHidden: 'true' })
}
