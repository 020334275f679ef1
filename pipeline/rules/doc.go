// Package rules has the conditions, filters and detectors that come with the pipeline.
//
// A condition is true or false for one change. [Keep] and [Drop] make a filter from it, [All], [Any] and [Not] combine
// conditions, and [When] restricts a detector. All other files have one rule each, named for it; start with
// conditions.go.
package rules
