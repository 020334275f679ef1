package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Keep is the filter that drops every change for which c is false, counted under reason.
func Keep(reason string, c pipeline.Condition) pipeline.Filter { return filter{c, reason, false} }

// Drop is the filter that drops every change for which c is true, counted under reason.
func Drop(reason string, c pipeline.Condition) pipeline.Filter { return filter{c, reason, true} }

// filter drops where its condition says drop.
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

// Check asks the condition.
func (f filter) Check(c *record.Change) (pipeline.Verdict, error) {
	match, err := f.Match(c)
	if err != nil || match != f.drop {
		return pipeline.Verdict{}, err
	}
	return pipeline.Verdict{Drop: true, Reason: f.reason}, nil
}

// Name is the reason under which drops are counted.
func (f filter) Name() string { return f.reason }

// Requires is what the condition needs.
func (f filter) Requires() pipeline.Needs { return needs(f.Condition) }

// KeysOnly is what the condition says.
func (f filter) KeysOnly() bool { return ReadsKeysOnly(f.Condition) }
