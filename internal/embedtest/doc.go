// Package embedtest tests the side of the embedder: options, policies, hooks, records, events and Runners.
package embedtest
