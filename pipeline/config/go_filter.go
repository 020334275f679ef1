package config

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GoFilter is the placeholder of a filter that is Go code: `func: NAME`. The program replaces it with the code.
type GoFilter struct {
	Func string // name of the code
	// StateSinks is the problem to report if the code reads more than keys, because the filter is before a sink that
	// keeps state. It is nil if the code may read images.
	StateSinks *Problem

	name    string // name by which dropped changes are counted
	problem Problem
}

var _ pipeline.Named = (*GoFilter)(nil)

// Name returns the name by which dropped changes are counted.
func (g *GoFilter) Name() string { return g.name }

// Check always fails, because the code is not in the file.
func (g *GoFilter) Check(*record.Change) (pipeline.Verdict, error) {
	return pipeline.Verdict{}, fmt.Errorf("the filter %s is Go code, which this pipeline does not have", g.Func)
}

// Problem returns a problem at the filter's line of the file.
func (g *GoFilter) Problem(message, hint string) Problem {
	p := g.problem
	p.Message, p.Hint = message, hint
	return p
}
