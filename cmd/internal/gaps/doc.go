// Package gaps is the command gaps. It lists the gaps of a pipeline, and repairs the sinks after them.
//
// [Repair] takes the gaps, compares with the audit what may differ, repairs it, and looks again. It says repaired only if
// the last look found nothing. Candidates are the items of incremental exports (exports.go), or everything. Read repair.go
// first, then ownership.go, exports.go and window.go. check.go refuses a repair that would come too early.
package gaps
