// Package hosttest is for the tests of the root package that other packages have: managers that must leave nothing,
// the commands that tests run, and agents at the other end of a connection. Only tests import it.
package hosttest
