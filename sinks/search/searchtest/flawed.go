package searchtest

import (
	"bytes"
	"context"
	"errors"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Flawed are the settings of a sink that the flaws of images spoil (sinktest): of the items
// whose Type is kind, in the index named by a template. [Refusing] is the store for it.
func Flawed(index, kind string) (search.Options, error) {
	spoils := []string{sinktest.FlawWhen, sinktest.FlawValue}
	named, err := template.Parse(index, template.Options{})
	if err != nil {
		return search.Options{}, err
	}
	if _, fixed := named.Prefix(); fixed {
		spoils = append(spoils, sinktest.FlawKey)
	} else if named, err = template.Parse(index+"{"+sinktest.FlawKey+"?}", template.Options{}); err != nil {
		return search.Options{}, err
	}
	when := OfType(kind)
	return search.Options{
		Index:  named,
		Fields: search.Fields{Rename: map[string]string{sinktest.FlawField: "Type"}},
		When: pipeline.ItemConditionFunc(func(item item.Image) (bool, error) {
			for _, name := range spoils {
				if _, spoilt := item.Get(name); spoilt {
					return false, errors.New("the condition can't be evaluated")
				}
			}
			if when == nil {
				return true, nil
			}
			return when.Match(item)
		}),
	}, nil
}

// Refusing is a store that takes no document with [sinktest.FlawStore], as a server whose
// mapping it does not fit.
type Refusing struct{ search.Store }

// Apply permanently refuses such documents.
func (r Refusing) Apply(ctx context.Context, ms []search.Mutation) ([]search.Result, error) {
	rs := make([]search.Result, len(ms))
	taken, at := make([]search.Mutation, 0, len(ms)), make([]int, 0, len(ms))
	for i := range ms {
		if bytes.Contains(ms[i].Doc, []byte(`"`+sinktest.FlawStore+`"`)) {
			rs[i].Err = errors.New("the store refuses it for good")
			continue
		}
		taken, at = append(taken, ms[i]), append(at, i)
	}
	done, err := r.Store.Apply(ctx, taken)
	for n := range done {
		rs[at[n]] = done[n]
	}
	return rs, err
}
