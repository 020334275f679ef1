// Package lost holds the tests of stores that are lost, restored or exchanged while no process looks: whatever is lost,
// and whatever its operator does then, the pipeline refuses to continue, or ends as one clean pass does.
package lost
