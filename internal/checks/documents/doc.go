// Package documents runs the commands of the documents, compiles the code of package comments, and prints the help of all
// programs. It builds packages of all modules.
package documents
