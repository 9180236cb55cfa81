// A button with a menu: it opens with a click, Enter or the down arrow; arrows, Home and End move in it, and Escape, Tab
// or a click elsewhere close it.
import { element } from './text.js'

// menuOf makes a menu of items, which are buttons or links. Those with aria-checked are choices. It calls onOpen
// before it shows them. Hidden items stay hidden.
export function menuOf(button, items, onOpen = () => {}) {
  const list = element('div', { class: 'menu', role: 'menu', 'aria-label': button.getAttribute('aria-label') ?? button.textContent, hidden: true }, ...items)
  const box = element('div', { class: 'menu-box' }, button, list)
  const shown = () => items.filter(item => item.checkVisibility())
  const isOpen = () => !list.hidden
  const focused = () => shown().indexOf(box.getRootNode().activeElement)
  button.setAttribute('aria-haspopup', 'menu')
  button.setAttribute('aria-expanded', 'false')
  for (const item of items) {
    item.setAttribute('role', item.hasAttribute('aria-checked') ? 'menuitemcheckbox' : 'menuitem')
    item.tabIndex = -1
  }

  function open(at = 0) {
    onOpen()
    list.hidden = false
    button.setAttribute('aria-expanded', 'true')
    shown().at(at)?.focus()
  }

  function close(focus) {
    list.hidden = true
    button.setAttribute('aria-expanded', 'false')
    if (focus) button.focus()
  }

  button.addEventListener('click', () => isOpen() ? close(true) : open())
  list.addEventListener('click', event => {
    const item = event.target.closest('[role^=menuitem]')
    if (item && item.getAttribute('aria-disabled') !== 'true') close(true)
    else event.preventDefault()
  }, true) // before the item moves the focus
  box.addEventListener('keydown', event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const end = { Home: 0, End: -1 }[event.key]
    if (!isOpen()) {
      if (!step) return
      open(step > 0 ? 0 : -1)
    } else if (event.key === 'Escape') close(true)
    else if (event.key === 'Tab') return close(true)
    else if (step) shown().at((focused() + step) % shown().length)?.focus()
    else if (end !== undefined) shown().at(end).focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  box.addEventListener('focusout', event => { if (!box.contains(event.relatedTarget)) close(false) })
  return box
}
