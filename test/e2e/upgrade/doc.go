// Package upgrade tests stores that an earlier program wrote: a folder of embedded stores, and tables, indexes and
// buckets on servers. Today's program must continue with them and end as after one clean pass, or refuse them and name
// the command that fills them again.
//
// Each folder in testdata is a recording of one version. It has the configuration, the changes, and everything that the
// program of that version had written after two thirds of the changes. This command records a release:
//
//	go run ./test/servers -- go test ./test/e2e/upgrade -run Record -record v1.2.3
//
// A recording is never changed, because later programs must read what the earlier program really wrote.
package upgrade
