// Package audit compares the items of a source table with the contents of the sinks that keep state: views, aggregates
// and search indexes.
//
// The pipeline's own planners plan the required contents of a sink. A [Sink] yields these contents as entries, one item
// at a time. It also yields the entries that its store holds. An entry has a place, such as the key of a row, and a
// digest of its contents. Two entries with the same place and the same digest are equal.
//
// An audit joins the required and the stored entries by place. It compares each differing place again until the item
// and the place have stopped changing. [Sink].Compare does this: it reads the entries of one item with their versions,
// and returns the differences. [Sink].Repair writes the required entry if the stored entry is still as it was read. The
// version of a repaired entry comes between the item's last change and its next one, or is that of the item's last
// saved record.
//
// Read audit_sink.go, sink_entry.go and item_state.go first. item_state.go has the rule for a sink that may be ahead of
// an item. audited_sinks.go opens the sinks, and item_planner.go plans an item. entry_digest.go and group_digest.go
// make digests. row_comparison.go and claim_comparison.go compare views, contribution_comparison.go and
// group_comparison.go compare aggregates, and document_comparison.go compares search sinks. repair_outcome.go compares
// an entry once more before a repair. repair_rows.go, repair_groups.go and repair_documents.go write the required
// entries.
package audit
