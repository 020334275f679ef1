// Package pushdown computes which records of a stream no sink of a configuration needs. It writes the FilterCriteria of
// a Lambda event source mapping, so that Lambda drops these records. A dropped record costs nothing and is never
// decoded.
//
// Promise: a record passes Lambda if any stage of the pipeline would act on it. This includes a record that an error
// would send to dead letters, and a record that removes an item from a view or an index. The function keeps its
// filters, and drops the other records that pass. So the patterns do not change the pipeline's results. They only lower
// its counts of filtered and unrouted changes.
//
// Two parts of a configuration are pushed down, which means that Lambda evaluates them:
//
//   - The filters above all sinks, in order, up to the first that can fail on a record.
//   - The union of the sinks' own filters, `when` and kinds, if every sink needs less than all
//     records.
//
// An entity's condition, and the elements of a search sink with for_each, are evaluated before `when`. If this
// evaluation fails for a record, the record belongs in dead letters. So such a record passes Lambda, whatever `when`
// would decide.
//
// Some sinks need all records: aggregates, and views with for_each or whose rows are guarded by item. They compare the
// new image with what they have stored for the item, so a change can correct a row even if neither image meets `when`.
//
// Lambda compares texts exactly: equal, one of, starts with, anything but, exists. It cannot compare the old image with
// the new one (Lambda Developer Guide, "Filter rule syntax"). It cannot compare numbers of DynamoDB, because these are
// texts with several spellings. If Lambda can check only a part of a condition, only that part is pushed down. Lambda
// then lets more records through than the function keeps.
//
// Lambda joins names with dots, so a name with a dot is ambiguous. Patterns therefore use only top-level attributes
// without a dot in their names.
//
// Start reading at pattern_plan.go. condition_patterns.go and expression_patterns.go translate conditions into
// alternatives of patterns. record_pattern.go and text_rule.go combine them.
package pushdown
