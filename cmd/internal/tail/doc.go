// Package tail is the command tail. It prints the changes of a table as they are written, in the same form as the
// command explain.
//
// It reads the stream with shardreader.Tail, which needs no lease and stores nothing. Read tail.go first, then
// change_selection.go, which implements --key and --of. global_table_check.go protects the consumers of a global table.
package tail
