package leases

import "time"

// Member is a worker, as it tells the others of itself.
type Member struct {
	Worker string // unique to the process
	Name   string // the same over restarts: what Lease.Pinned names. Default: Worker
	Beat   int64  // rises with every beat

	Leaving bool    // it hands over what it has, and takes nothing more
	Leases  int     // that it owns and that have not ended
	Load    float64 // bytes a second that it read of late
	Calls   float64 // GetRecords calls a month at the rate of late
	Pending int64   // records read and not yet durable everywhere

	// Behind are shards whose newest record it has not read yet, as far as it
	// knows, with the creation time of the last one read: at most 200, the
	// oldest. What is not among them is read up to its newest record.
	Behind map[string]time.Time

	// Stopped are shards that it reads no further, with why.
	Stopped map[string]string
}
