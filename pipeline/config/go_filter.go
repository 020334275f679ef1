package config

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GoFilter is the placeholder of a filter that is Go code: `func: NAME`. The program replaces it with the code.
type GoFilter struct {
	Func       string   // name of the code
	StateSinks *Problem // problem of code that reads more than keys before state sinks; nil if the code may read images

	name    string // name by which its drops are counted
	problem Problem
}

var _ pipeline.Named = (*GoFilter)(nil)

// Name returns the name by which its drops are counted.
func (g *GoFilter) Name() string { return g.name }

// Check always fails, because the code is not in the file.
func (g *GoFilter) Check(*record.Change) (pipeline.Verdict, error) {
	return pipeline.Verdict{}, fmt.Errorf("the filter %s is Go code, which this pipeline does not have", g.Func)
}

// Problem returns a problem of the filter.
func (g *GoFilter) Problem(message, hint string) Problem {
	p := g.problem
	p.Message, p.Hint = message, hint
	return p
}
