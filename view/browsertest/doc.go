// Package browsertest has no code: its tests look at the module view in a real browser, Chromium, which
// github.com/chromedp/chromedp drives. They are a module of their own so that nobody who uses view gets that.
package browsertest
