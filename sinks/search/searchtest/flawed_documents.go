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

// Flawed returns the options of a sink that fails on images with the flaws of sinktest. The sink takes the items whose
// Type is kind, and index is the template of its index name. [Refusing] is the store for it.
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

// Refusing is a store that refuses documents with [sinktest.FlawStore], as a server refuses a document that does not
// fit its mapping.
type Refusing struct{ search.Store }

// Apply permanently refuses documents with [sinktest.FlawStore], and passes all others to the Store.
func (r Refusing) Apply(ctx context.Context, mutations []search.Mutation) ([]search.Result, error) {
	results := make([]search.Result, len(mutations))
	accepted, positions := make([]search.Mutation, 0, len(mutations)), make([]int, 0, len(mutations))
	for i := range mutations {
		if bytes.Contains(mutations[i].Doc, []byte(`"`+sinktest.FlawStore+`"`)) {
			results[i].Err = errors.New("the store refuses it for good")
			continue
		}
		accepted, positions = append(accepted, mutations[i]), append(positions, i)
	}
	done, err := r.Store.Apply(ctx, accepted)
	for n := range done {
		results[positions[n]] = done[n]
	}
	return results, err
}
