// Package handoff checks the rules by which a sink that came later is filled from a snapshot while the stream is
// written beside it. It drives the real planners and stores.
//
// A [World] is one random interleaving, made from a seed: writers change a few items of a table; the shards of its
// stream split, and are read at least once, by processes that crash, by processes that write late, and with batches that
// come back much later; a backfill reads an export, an export with incremental exports behind it, or a scan, each part
// perhaps twice, and writes what it read at any time. In the end every sink must be what the table's items make of it.
// The sinks say that in plain Go, without their planners.
//
// [Rules] takes one protection out. The worlds then end wrong for some seeds, which shows that the protection is needed
// and that the worlds contain what it protects against.
package handoff
