// Package rules has the conditions, filters and detectors that come with the pipeline.
//
// A condition is true or false for one change. [Keep] and [Drop] make a filter of a condition, [All], [Any] and [Not]
// combine conditions, and [When] restricts a detector. Most files have the rules that they are named for; start with
// conditions.go.
package rules
