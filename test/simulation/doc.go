// Package simulation drives a whole fleet of coordinator.Coordinator step machines against a simulated stream, lease
// table, sinks and processes with all their faults. A run has one thread, virtual time and one seed.
//
// A [Plan] is made from a seed before anything runs: the shape of a world and the list of its events (writes, splits,
// trims, crashes, stops, outages). [Run] plays it. All random choices during the run (latencies, failing calls) come
// from the same seed, so a run replays byte for byte. Because a plan is a list of events, [Shrink] can shorten a
// failing plan by removing events.
//
// The world knows the truth: every record that was written, whether each sink has it, and whether the stream still
// keeps it. After each step it checks the rules that must always hold. After the faults have ended it waits, within a
// bound of virtual time, until the state in the sinks equals that of the table.
package simulation
