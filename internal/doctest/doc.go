// Package doctest tests what the documents say, and how large the code is.
package doctest
