package sinks

import (
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// CountNoEntity adds to n each change that the filters keep and whose item is of no entity. It counts nothing if the file has
// no entities.
func CountNoEntity(n *atomic.Int64) Option {
	return func(a *assembly) { a.noEntity = n }
}

// noEntity is a filter that keeps every change, and counts.
type noEntity struct {
	entities *entity.Set
	n        *atomic.Int64
}

var _ pipeline.Filter = noEntity{}

// Check counts the change. A condition of an entity that fails is reported by what is about the entity.
func (f noEntity) Check(c *record.Change) (pipeline.Verdict, error) {
	if e, err := f.entities.Of(rules.LatestImage(c)); e == nil && err == nil {
		f.n.Add(1)
	}
	return pipeline.Verdict{}, nil
}
