// What the user has chosen, in localStorage.

// kept returns the choice with a name, or ''. It first keeps a value, for terminals that come later.
export function kept(name, value) {
  try {
    if (value !== undefined) localStorage[name] = value
    return localStorage[name] ?? ''
  } catch { // the browser keeps nothing
    return `${value ?? ''}`
  }
}
