// Package programs has no code: its tests show processes, links and the end of a tree with npm and vite's server.
package programs
