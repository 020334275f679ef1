// Package simulation drives a whole fleet of coordinator.Coordinator step machines through
// what a stream, a lease table, sinks and processes can do to them: in one thread, in
// virtual time, from one seed.
//
// A [Plan] is made from a seed before anything runs: the shape of a world and the list of its events (writes, splits,
// trims, crashes, stops, outages). [Run] plays it. All that is left to chance while it runs (latencies, which call
// fails) comes from the same seed, so that a run replays byte for byte. Since what happens is a list, a failing plan is
// shrunk by leaving things out ([Shrink]).
//
// The world knows the truth: every record that was written, whether each sink has it,
// whether the stream still keeps it. After each step it checks what must always hold, and
// when the faults have ended it waits, within a bound of virtual time, for the
// state in the sinks to be that of the table.
package simulation
