// Text for sizes, durations and states.

const units = ['B', 'kB', 'MB', 'GB', 'TB']

export function bytes(n) {
  let unit = 0
  for (; n >= 1000 && unit < units.length - 1; unit++) n /= 1000
  return `${unit && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`
}

export function duration(ms) {
  const s = ms / 1000
  if (ms >= 0 && ms < 100) return `${Math.round(ms)} ms`
  if (s < 10) return `${Math.max(0, s).toFixed(1)} s`
  if (s < 60) return `${Math.floor(s)} s`
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`
  return `${Math.floor(s / 3600)} h ${Math.floor(s / 60 % 60)} min`
}

// clock formats a time in milliseconds as hours and minutes, after the day if that is not today's.
export function clock(ms) {
  const time = new Date(ms), today = new Date()
  const days = (new Date(today).setHours(0, 0, 0, 0) - new Date(ms).setHours(0, 0, 0, 0)) / 864e5
  const kind = days < 0.5 ? 0 : days < 6.5 ? 1 : time.getFullYear() === today.getFullYear() ? 2 : 3
  formats[kind] ??= new Intl.DateTimeFormat([], { ...dates[kind], hour: '2-digit', minute: '2-digit' })
  return formats[kind].format(time)
}

/**
 * dates are the forms of a day: today, in the last week, this year, and before. Formats are kept, because to make one
 * takes long.
 * @type {Intl.DateTimeFormatOptions[]}
 */
const dates = [{}, { weekday: 'short' }, { day: 'numeric', month: 'short' }, { day: 'numeric', month: 'short', year: 'numeric' }]
const formats = []
setTimeout(() => clock(Date.now())) // the first format takes tens of milliseconds, while the page still waits for files

// outcome returns a row's state as text.
export function outcome(row) {
  if (row.state === 'finished') return row.good ? 'done' : row.status || 'ended'
  if (row.state === 'idle') return row.idle ? `idle for ${duration(row.idle)}` : 'idle for too long'
  return row.state
}

// commandOf returns a row's command as text. An agent need not name its command.
export function commandOf(row) {
  return row.command || 'unnamed command'
}

// lineOf returns a row's command on one line, for a title or a notification, which do not show a badge. For a command
// that the agent runs itself, the page knows only the agent's description.
export function lineOf(row) {
  const command = commandOf(row).split('\n', 1)[0]
  return row.agent ? `${runner(row)}: ${command}` : command
}

// nameOf is like lineOf, but also says whose command it is.
export function nameOf(row) {
  return [lineOf(row), ownerOf(row.agent ? { ...row, source: '' } : row)].filter(Boolean).join(' – ')
}

// ownerOf returns the names of a row's manager and session, or '' if they have none.
export function ownerOf(row) {
  return [row.source, row.named && row.session].filter(Boolean).join(' · ')
}

// runner says who runs a command of the agent's own.
export const runner = row => `run by ${row.source || 'the agent'} itself`

// ownerBadge returns the badge of a terminal that the agent owns, or nothing for others. The text beside it explains it.
export function ownerBadge(row) {
  if (!row.agent) return []
  return [element('span', { class: 'badge', textContent: 'agent' })]
}

// tone returns the class of a row's colour.
export function tone(row) {
  if (!row.ended) return row.state === 'stopping' ? 'stopping' : 'running'
  if (row.state === 'finished') return row.good ? 'good' : row.status ? 'bad' : 'ended'
  if (['released', 'agent gone', 'unknown'].includes(row.state)) return 'ended'
  if (['failed', 'timed out', 'idle', 'connection lost'].includes(row.state)) return 'bad'
  return row.state === 'denied' ? 'denied' : 'stopped'
}

// kindOf returns the kind of a row for the list's filter: "running", "failed", "denied", "stopped" or "done".
export function kindOf(row) {
  return { running: 'running', stopping: 'running', bad: 'failed', denied: 'denied', stopped: 'stopped' }[tone(row)] ?? 'done'
}

// element creates an element: element('p', { class: 'x', textContent: 'y' }, ...children). Text is never HTML.
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== 'role') made[key] = value
    else made.setAttribute(key, value)
  }
  made.append(...children)
  return made
}
