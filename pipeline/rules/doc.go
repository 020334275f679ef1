// Package rules has the conditions, filters and detectors that come with the pipeline.
//
// A Condition answers for one change; [Keep] and [Drop] make a filter of it. Each file is one rule.
package rules
