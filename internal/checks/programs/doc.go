// Package programs has no code: its tests show processes, links, the end of a tree, and a user's acts with npm and vite's
// server.
package programs
