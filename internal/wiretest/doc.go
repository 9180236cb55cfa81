// Package wiretest tests acpterm from the view of an agent at the other end of a connection.
package wiretest
