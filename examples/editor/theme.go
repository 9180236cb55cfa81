package main

// This file has the colours, for dark and for light terminals. Without colours, bars still stand out in reverse.

import (
	"image/color"

	"charm.land/lipgloss/v2"
)

// styles has the styles of all parts of the screen. Text without a background is on the terminal's own.
type styles struct {
	plain, bold, quiet, call lipgloss.Style
	header, bar              lipgloss.Style // with a background
	ask                      lipgloss.Style // of a dialog
	own                      lipgloss.Style // of commands that the agent runs itself

	running, succeeded, failed lipgloss.Style // of commands; quiet if neither is known
}

func newStyles(dark bool) styles {
	pick := lipgloss.LightDark(dark)
	colour := func(light, dark uint8) color.Color { return pick(lipgloss.ANSIColor(light), lipgloss.ANSIColor(dark)) }
	style := lipgloss.NewStyle()
	text := func(light, dark uint8) lipgloss.Style { return style.Foreground(colour(light, dark)) }
	return styles{
		plain: style, bold: style.Bold(true), quiet: text(240, 248), call: text(24, 80),
		header:  style.Bold(true).Reverse(true).Foreground(colour(24, 75)),
		bar:     text(235, 252).Background(colour(254, 236)),
		ask:     text(94, 215),
		own:     text(90, 183),
		running: text(94, 221), succeeded: text(22, 114), failed: text(124, 210),
	}
}
