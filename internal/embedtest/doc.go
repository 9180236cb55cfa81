// Package embedtest tests what an embedder sets and is told: options, policies, hooks, records, events and Runners.
package embedtest
