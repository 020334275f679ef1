package search

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Replaces reports whether m is newer than the stored version of its document. A stored void tombstone of the same
// version is replaced if m is not void.
func (m *Mutation) Replaces(stored record.Version, void bool) bool {
	order := m.Version.Compare(stored)
	if order == 0 {
		return void && !m.Void
	}
	return order > 0
}

// Coalesced maps each mutation of a batch to the newest mutation of the same document. Only the newest mutations are
// written.
type Coalesced struct {
	Newest    []int // indexes into the batch, in the order in which documents first occur
	writtenBy []int // for each mutation, the index of the mutation that is written instead
}

// Coalesce finds the newest mutation of each document.
func Coalesce(mutations []Mutation) Coalesced {
	type document struct{ index, id string }
	c := Coalesced{Newest: make([]int, 0, len(mutations)), writtenBy: make([]int, len(mutations))}
	positions := make(map[document]int, len(mutations)) // document -> its position in Newest
	for i := range mutations {
		d := document{mutations[i].Index, mutations[i].ID}
		n, seen := positions[d]
		if !seen {
			n = len(c.Newest)
			positions[d] = n
			c.Newest = append(c.Newest, i)
		} else if newest := &mutations[c.Newest[n]]; mutations[i].Replaces(newest.Version, newest.Void) {
			c.Newest[n] = i
		}
		c.writtenBy[i] = n // a position in Newest until all mutations were seen
	}
	for i, n := range c.writtenBy {
		c.writtenBy[i] = c.Newest[n]
	}
	return c
}

// Share sets the results of the mutations that were not written. Each of them fails if the mutation that was written
// instead failed.
func (c Coalesced) Share(mutations []Mutation, results []Result) {
	for i, by := range c.writtenBy {
		if i == by {
			continue
		}
		results[i] = results[by]
		if results[i].Err != nil || results[i].Outcome == pipeline.Superseded {
			continue
		}

		cameLate := i > by && mutations[i].Version.Compare(mutations[by].Version) < 0
		results[i].Outcome = pipeline.Coalesced
		if cameLate {
			results[i].Outcome = pipeline.Superseded
		}
	}
}
