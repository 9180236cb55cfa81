// Package embedtest tests the embedder's side: options, policies, hooks, records, events and Runners.
package embedtest
