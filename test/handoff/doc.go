// Package handoff checks the rules by which an added sink is filled from a snapshot while the stream is written beside
// it. It drives the real planners and stores.
//
// A [World] is one random interleaving, made from a seed: writers change a few items of a table; the shards of its
// stream split, and are read at least once, by processes that crash, by processes that write late, and with batches that
// come back much later; a backfill reads an export, an export with incremental exports behind it, or a scan, each part
// perhaps twice, and writes what it read at any time. In the end every sink must be what the table's items make of it.
// The sinks say that in plain Go, without their planners.
//
// A [RepairWorld] begins with filled sinks. Records are lost and read on behind, and entries are changed, moved and removed
// by hand. Audits and repairs run meanwhile, several at once; each is interrupted at any call of a store by writers, by the
// stream, by processes that write late, and by each other, and some are killed there. Sinks, stores and the comparison of
// single places are the real ones. The judging of what was found is that of `tablewake audit`, written once more: a
// difference counts if item and places are the same in two looks, every consumer was past the first one in between, and the
// item is the same after its places were read. In the end every sink must be what the table's items make of it, and an
// audit must find nothing. In a healthy world no audit may find a difference.
//
// Worlds with repairs keep the conditions of a repair: no change from before the damage comes late, unless contents
// alone were damaged; no group holds less than its items' contributions, since the stream stops there; and guards are
// not changed by hand. They leave out aggregates that keep expired items, and on_collision: last.
//
// [Rules] takes one protection out. The worlds then end wrong for some seeds, which shows that the protection is needed
// and that the worlds contain what it protects against.
package handoff
