// Package file keeps leases and gaps in a file, for a consumer that is a single process.
//
// The file is JSON, a lease a line, and is replaced as a whole: neither a crash nor a power
// failure leaves half of it. Writes that come while it is being written share the next one, and
// the disk is busy with it at most a fifth of the time. What
// a call reports as done is on disk, but for beats, which nobody else waits for, and quotas.
//
// A lock beside the file (its name and .lock) keeps a second process out; the system lets go of it with
// the process, however that ends. So whoever owned leases before is gone:
// [Open] takes them all back.
package file
