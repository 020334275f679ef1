package config

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// GoFilter stands for a filter that is Go code of a program: `func: NAME`. The program replaces it with that code.
type GoFilter struct {
	Func       string   // its name
	StateSinks *Problem // refuses code that reads more than keys, before state sinks; nil: it may read images

	name string // its drops are counted by it
	at   Problem
}

var _ pipeline.Named = (*GoFilter)(nil)

// Name is the reason that its drops are counted under.
func (g *GoFilter) Name() string { return g.name }

// Check fails: the code is not in the file.
func (g *GoFilter) Check(*record.Change) (pipeline.Verdict, error) {
	return pipeline.Verdict{}, fmt.Errorf("the filter %s is Go code, which this pipeline does not have", g.Func)
}

// Problem returns a problem of the filter.
func (g *GoFilter) Problem(message, hint string) Problem {
	p := g.at
	p.Message, p.Hint = message, hint
	return p
}
