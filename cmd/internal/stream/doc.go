// Package stream opens the Streams API and the leases that a configuration names.
//
// consume reads with [Open]; commands that only inspect use [OpenRateLimited]. [OpenLeaseTable] and [LeaseFile] find
// the leases, and [PriorReadEvidence] reports whether the leases prove earlier reads. [WaitPassed] waits until the
// consumers have read past a time. [GiveWay] slows a command down while the consumers are behind. A consumer without a
// heartbeat for [MaxSilence] counts as dead.
package stream
