// Package file stores leases and gaps in a file, for a consumer that is a single process.
//
// The file is JSON, one line per lease. It is replaced as a whole, so a crash or a power
// failure leaves either the old or the new content. Changes that arrive during a write are written together by the
// next one. Pauses between writes keep the disk busy for at most a fifth of the time. When a
// call returns, its change is on disk. Only heartbeats and quotas may be lost in a crash: no other
// process waits for them.
//
// A lock file beside it (with the suffix .lock) keeps a second process out. The system releases the lock
// when the process ends, in whatever way. So the owners in the file are gone, and [Open] clears them.
//
// A change goes through Table.do: apply changes the rows in memory, durable waits until Table.write has written
// them. Read table.go, write.go and content.go in this order.
package file
