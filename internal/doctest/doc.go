// Package doctest tests the documents against the code, the imports, and the size of the code.
package doctest
