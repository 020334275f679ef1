// Package pushdown says which records of a table's stream no sink of a configuration needs,
// in the words of a Lambda event source mapping's FilterCriteria: what Lambda drops
// by it is never paid for, and never decoded.
//
// What it promises: a record that any stage of the pipeline would do something with passes, also one
// that an error would bring into dead letters, and one that takes an item out of a
// view or an index. The filters stay in the function, and drop what Lambda let
// through. So the outcome of a pipeline behind the patterns is that of the pipeline
// alone; its counts of filtered and unrouted changes are lower.
//
// What is pushed down:
//
//   - the filters above all sinks, in order, up to the first that can fail on a record;
//   - what all sinks together take by their own filters, `when` and kinds, where each
//     of them needs less than everything. Aggregates, and views whose rows are guarded by
//     item, need everything: they compare the new image with what they know of the item, so that a
//     change whose images both lie outside of their `when` can still mend a row.
//
// Lambda compares texts exactly: equal, one of, starts with, anything but, exists. It cannot
// compare the old image with the new (Lambda Developer Guide, "Filter rule syntax"),
// and its numbers are no DynamoDB numbers, which are texts with several
// spellings. A condition of which only a part can be asked is pushed down in part, and
// then lets more through than the function keeps.
//
// Lambda sees names with dots between them, so what a dot in a name could be taken
// for is not pushed down: only top-level attributes without a dot are asked for.
package pushdown
