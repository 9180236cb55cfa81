// Package with has the tests of the clients in its directories, one for each JSON-RPC library, and one for two versions
// of ACP.
package with
