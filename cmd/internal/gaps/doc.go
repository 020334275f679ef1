// Package gaps is the command gaps. It lists the gaps of a pipeline, and repairs the sinks after them.
//
// [Repair] takes the ownership of gaps, compares the candidates with the table, repairs the differences, and compares
// again. The gaps are repaired only if the last comparison found nothing. Candidates are the items of incremental
// exports (repair_candidates.go), or everything. Read gap_repair.go first, then repair_ownership.go,
// repair_candidates.go and repair_window.go. repair_checks.go refuses a repair that is too early.
package gaps
