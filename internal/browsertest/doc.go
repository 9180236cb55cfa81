// Package browsertest has no code: its tests look at the module view in real browsers. Chromium is driven by
// github.com/chromedp/chromedp, Firefox by WebDriver BiDi, and WebKit by WebDriver, where the system has WebKitWebDriver and
// Xvfb. They are a module of their own, so that the module view does not depend on these.
package browsertest
