// Package upgrade holds the tests of stores that an earlier program wrote: a folder of embedded stores, and tables,
// indexes and buckets on servers. Today's program either continues with them, and ends as one clean pass does, or
// refuses them and names the command that fills them again.
//
// Each folder in testdata is a recording of one version: the configuration, the changes, and what the program of that
// version had written after two thirds of them. A release is recorded by
//
//	go run ./test/servers -- go test ./test/e2e/upgrade -run Record -record v1.2.3
//
// A recording is never changed: a later program meets what was written, not what it would write.
package upgrade
