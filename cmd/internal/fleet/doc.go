// Package fleet has the commands status and leases. It reports the state of a pipeline's consumers, and changes their
// leases by hand.
//
// An [Observation] has what is visible outside of the consumers: leases, heartbeats, the listed shards of the stream,
// and noted gaps. [Observation.Report] makes a [Report] of it. A Report has the problems and the tree of shards, with
// the reader, the position and the lag of each shard. A leaseEdit is the planned change of a lease that is released,
// reset or pinned, with its effects. Neither [Observation.Report] nor the planning of a leaseEdit makes a call.
//
// status: statusOptions.run opens the stores (openObserved), reads them (statusOptions.observe) and prints the report.
// leases: leasesOptions.editLeases plans a leaseEdit and writes it (lease_edit_write.go). Read status_command.go and
// fleet_report.go first, then leases_command.go and lease_edit.go.
package fleet
