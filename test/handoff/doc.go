// Package handoff checks the rules for filling an added sink from a snapshot while the stream is also written to it.
// It uses the real planners and stores.
//
// A [World] is one random interleaving, made from a seed. Writers change a few items of a table. The shards of its
// stream split and are read at least once, by processes that crash or write late. Some batches are delivered again much
// later. A backfill reads an export, an export with incremental exports after it, or a scan. It may read each part
// twice, and writes the items at any time. In the end every sink must have the content that the items of the table
// require. This package computes the required content in plain Go, without the planners of the sinks.
//
// A [RepairWorld] begins with filled sinks. Some records are lost, but later records are read. Entries are changed,
// moved and removed by hand. Several audits and repairs run meanwhile. At any call of a store they may be interrupted
// by writers, the stream, late processes, and other audits and repairs. Some are killed there. The sinks, the stores
// and the comparison of single places are the real ones. The code that judges the findings repeats the rules of
// `tablewake audit`. A difference counts on three conditions. The item and its places are the same in two looks.
// Between the looks, every consumer passes the time of the first look. The item is still the same after its places are
// read. In the end every sink must have the content that the items of the table require, and an audit must find
// nothing. In a healthy world no audit may find a difference.
//
// A repair has conditions, and worlds with repairs keep them. No change from before the damage comes late, unless only
// contents were damaged. No group holds less than the contributions of its items, because the stream stops at such a
// group. Guards are not changed by hand. These worlds have no aggregates that keep expired items, and no on_collision:
// last.
//
// [Rules] leaves out one protection. The worlds then end wrong for some seeds. This shows that the protection is
// needed and that the worlds contain the events that it protects against.
package handoff
