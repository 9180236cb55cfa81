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
    const { cols, buffer: { active } } = xterm
    const { activeElement } = xterm.element.getRootNode()
    if (activeElement?.dataset.group) this.#kept = activeElement.dataset.group
    else if (activeElement !== xterm.textarea || this.#kept && this.#buttonOf(this.#kept)) this.#kept = null // the user has moved it
    const focused = this.next ?? this.#kept
    const inView = numbers.inView()
    const extents = []
    let next = bisect(this.all, ({ marker }) => marker.line >= first)
    const above = this.all[next - 1], at = above ? numbers.of(above.marker.line) : 0
    const around = []
    for (let group = above; group; group = group.parent) {
      const extent = extentOf(group, at && at - above.line + group.line)
      extents.push(extent)
      if (extent[0] <= numbers.of(first) && numbers.of(first) <= extent[1]) around.unshift(group)
    }
    this.#showTop(around)
    const found = []
    for (; this.all[next]?.marker.line <= last; next++) {
      const group = this.all[next], { id, marker: { line: row } } = group
      const number = inView[row - first] || 0
      extents.push(extentOf(group, number))
      const text = textOf(group, this.#lengthOf(group, number))
      const name = nameOf(group, text)
      found.push({ row, width: cols, name, id, reads, show: shown => this.#showButton(shown, name, id, id === focused) })
      const room = cols - columnsOf(active.getLine(row)) - 2
      const label = [text, group.hidesError && 'error'].find(label => label && label.length <= room)
      if (!label) continue
      found.push({ row, x: cols - label.length - 1, width: label.length + 1, label, show: shown => showLabel(shown, label, group.hidesError) })
    }
    if (!found.some(({ id }) => id === this.#kept)) this.#kept = null
    showExtents(this.#gutter, numbers.of(first), inView, extents)
    return found
  }

  // showTop keeps the heading of the group at the top of the screen in view. around are the groups, from the outermost.
  #showTop(around) {
    const { xterm } = this.#screen, { element: { parentNode: pane }, options } = xterm
    this.#topGroup = around.at(-1)
    this.#top.hidden = !around.length
    if (!around.length) return
    const text = `▾ ${around.map(({ title }) => title).join(' › ')}`
    if (this.#top.textContent !== text) this.#top.textContent = text
    Object.assign(this.#top.style, {
      left: `${pane.offsetLeft}px`, top: `${pane.offsetTop}px`, width: `${pane.clientWidth}px`, height: `${cellOf(xterm)}px`,
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
  #lengthOf({ lines, seconds }, number) {
    if (lines === undefined) return ''
    if (Number.isNaN(seconds)) seconds = number && this.#times.secondsOf(number, number + lines + 1) || NaN // 0 says little
    if (seconds >= 60) return duration(seconds * 1000)
    return seconds >= 0 ? `${seconds} s` : `${lines} ${lines === 1 ? 'line' : 'lines'}`
  }

  // showButton shows the button of a heading on the screen. Screen readers have another one in the Transcript.
  #showButton(shown, name, id, focused) {
    if (shown.firstChild) return
    const button = this.button(id)
    button.ariaLabel = name
    button.ariaExpanded = !this.#isFolded(id)
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
const cellOf = xterm => xterm.element.querySelector('.xterm-screen').clientHeight / xterm.rows

// textOf returns what a heading says about its group, and nameOf the name of its button.
const textOf = (group, length) => [group.hidesError && 'error', length].filter(Boolean).join(', ')
const nameOf = (group, text) => [group.title, group.parent && `in ${group.parent.title}`, text].filter(Boolean).join(', ')

// extentOf returns the numbers of the first and the last line of a group whose heading has a number, or 0.
function extentOf({ lines = Infinity }, number) { return number ? [number + 1, number + lines] : [0, -1] }

// columnsOf returns how many columns of a row have text.
function columnsOf(line) {
  let columns = line.length
  while (columns && !line.getCell(columns - 1).getCode() && line.getCell(columns - 1).getWidth()) columns--
  return columns
}

function showLabel(shown, text, bad) {
  // The button has the text in its name.
  Object.assign(shown, { textContent: text, className: `xterm-decoration match label${bad ? ' bad' : ''}`, ariaHidden: 'true' })
}
