// Package wiretest tests what an agent at the other end of a connection sees.
package wiretest
