// Server-sent events, read with fetch: unlike EventSource it has backpressure, so a slow page does not queue messages, and
// the server skips output for it.

// follow calls onEvent with each event and awaits it, until the event "end", a 403 or 404, or the signal. It reconnects
// after the last id. It has no connection while the page is hidden, since a browser opens only six to a server.
// onConnection receives "open", "lost", "busy", "gone" or "forbidden".
export async function follow(url, { onEvent, onConnection, signal }) {
  let lastID = ''
  while (!signal.aborted) {
    await visible(signal)
    const hidden = new AbortController()
    const onHide = () => { if (document.hidden) hidden.abort() }
    document.addEventListener('visibilitychange', onHide)
    let problem = 'lost'
    try {
      const response = await fetch(url, {
        headers: lastID ? { 'Last-Event-ID': lastID } : {}, signal: AbortSignal.any([signal, hidden.signal]),
      })
      if (!response.ok) {
        problem = { 403: 'forbidden', 404: 'gone', 503: 'busy' }[response.status] ?? 'lost'
        if (problem === 'forbidden' || problem === 'gone') return onConnection(problem)
      } else {
        onConnection('open')
        for await (const event of parse(response.body)) {
          if (event.type === 'end') return
          await onEvent(event)
          if (event.id) lastID = event.id
        }
      }
    } catch (error) {
      if (!hidden.signal.aborted && !signal.aborted && error.name !== 'TypeError' && error.name !== 'AbortError') throw error
    } finally {
      document.removeEventListener('visibilitychange', onHide)
    }
    if (hidden.signal.aborted || signal.aborted) continue
    onConnection(problem)
    await new Promise(resolve => setTimeout(resolve, problem === 'busy' ? 2000 : 1000))
  }
}

function visible(signal) {
  return new Promise(resolve => {
    const look = () => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
    look()
  })
}

// parse yields the events of a stream: { type, id, data }, with the data decoded.
async function* parse(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text += value
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const event = { type: 'message', id: '', data: null }
      for (const line of text.slice(0, end).split('\n')) {
        if (line.startsWith('event: ')) event.type = line.slice(7)
        else if (line.startsWith('id: ')) event.id = line.slice(4)
        else if (line.startsWith('data: ')) event.data = JSON.parse(line.slice(6))
      }
      if (event.data) yield event
    }
  }
}
