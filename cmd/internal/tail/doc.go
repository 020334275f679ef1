// Package tail is the command tail. It prints the changes of a table as they are written, in the form of explain.
//
// It reads the stream with shardreader.Tail, which needs no lease and stores nothing. Read tail.go first, then
// selection.go, which has --key and --of, and globaltable.go.
package tail
