// Package rules has the conditions, filters and detectors that come with the pipeline.
//
// A condition is true or false for one change. [Keep] and [Drop] make a filter of a condition, [All], [Any] and [Not]
// combine conditions, and [When] restricts a detector.
//
// Start with conditions.go: conditions on operations, keys, TTL and whole images ([NoChange]). changed_paths.go
// compares images at paths ([Changed]). boolean_conditions.go combines conditions, and entity_conditions.go has
// conditions on entities. detectors.go and set_member_detectors.go detect. condition_clause.go describes a condition
// for Lambda's filter patterns.
package rules
