// Package browsertest has no code: its tests look at the module view in real browsers. They drive Chromium with
// github.com/chromedp/chromedp, Firefox with WebDriver BiDi, and WebKit with WebDriver, where the system has
// WebKitWebDriver and Xvfb. They are a separate module, so that the module view does not depend on these.
package browsertest
