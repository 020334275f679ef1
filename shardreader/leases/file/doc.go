// Package file stores leases and gaps in a file, for a consumer that is a single process.
//
// The file is JSON, with one line per lease. Each write replaces the whole file, so a crash or a power failure leaves
// either the old or the new content. Changes that arrive during a write are written together by the next write. Pauses
// between writes keep the disk busy for at most a fifth of the time. When a call returns, its change is on disk. Only
// heartbeats and quotas may be lost in a crash, because no other process depends on them.
//
// A lock file with the suffix .lock keeps a second process out. The system releases the lock whenever the process ends.
// So the owners in a file that is not locked are gone, and [Open] clears them.
//
// The call chain of a change: Table.changeDurably → Table.run, which changes the rows in memory → Table.waitDurable,
// which waits until Table.writeFile has written them. Read lease_table.go, file_write.go and file_content.go in this
// order.
package file
