// Package screenreader has no code: its test uses the page of the module view in Firefox by keys, and listens to the
// screen reader Orca. .ci/long runs it.
package screenreader
