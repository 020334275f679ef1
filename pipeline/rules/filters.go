package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Keep returns a filter that drops the changes for which c is false, and counts them under reason.
func Keep(reason string, c pipeline.Condition) pipeline.Filter { return filter{c, reason, false} }

// Drop returns a filter that drops the changes for which c is true, and counts them under reason.
func Drop(reason string, c pipeline.Condition) pipeline.Filter { return filter{c, reason, true} }

// filter drops the changes for which the result of the condition equals drop.
type filter struct {
	pipeline.Condition
	reason string
	drop   bool
}

var (
	_ pipeline.Filter   = filter{}
	_ pipeline.Named    = filter{}
	_ pipeline.Requirer = filter{}
	_ KeyReader         = filter{}
)

// Check evaluates the condition.
func (f filter) Check(c *record.Change) (pipeline.Verdict, error) {
	match, err := f.Match(c)
	if err != nil || match != f.drop {
		return pipeline.Verdict{}, err
	}
	return pipeline.Verdict{Drop: true, Reason: f.reason}, nil
}

// Name returns the reason under which drops are counted.
func (f filter) Name() string { return f.reason }

// Requires returns the needs of the condition.
func (f filter) Requires() pipeline.Needs { return mergeNeeds(f.Condition) }

// KeysOnly reports whether the condition reads nothing but the key.
func (f filter) KeysOnly() bool { return ReadsKeysOnly(f.Condition) }
