// Package lost holds the tests of stores that are lost, restored or exchanged behind a
// pipeline's back: whatever is lost, and whatever its operator does then, the pipeline refuses to
// go on, or ends as one clean pass does.
package lost
