// Server-sent events, read with fetch and not with EventSource: what is not read yet stays in the connection, so that
// a page which is behind is a slow reader to the server, which then skips, and no heap of messages in the page.

// follow hands every event to onEvent and waits for it, until the event "end", an answer that says not to come back, or
// the signal. A connection that is lost is made again, from the last id on. None is held while the page is hidden: a
// browser has six for a server. onConnection is told "open", "lost", "busy", "gone" and "forbidden".
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

// parse yields the events of a stream: { type, id, data }, the data parsed.
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
