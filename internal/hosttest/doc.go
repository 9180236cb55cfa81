// Package hosttest helps the tests of the root package that live in other packages: managers that must leave nothing
// behind, the commands run by tests, and agents on the other end of a connection. Only tests import it.
package hosttest
