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
func Coalesce(ms []Mutation) Coalesced {
	type document struct{ index, id string }
	c := Coalesced{Newest: make([]int, 0, len(ms)), writtenBy: make([]int, len(ms))}
	positions := make(map[document]int, len(ms)) // document -> its position in Newest
	for i := range ms {
		d := document{ms[i].Index, ms[i].ID}
		n, seen := positions[d]
		if !seen {
			positions[d] = len(c.Newest)
			c.Newest = append(c.Newest, i)
			continue
		}
		newest := &ms[c.Newest[n]]
		if ms[i].Replaces(newest.Version, newest.Void) {
			c.Newest[n] = i
		}
	}

	for i := range ms {
		n := positions[document{ms[i].Index, ms[i].ID}]
		c.writtenBy[i] = c.Newest[n]
	}
	return c
}

// Share sets the results of the mutations that were not written. Each of them fails if the mutation that was written
// instead failed.
func (c Coalesced) Share(ms []Mutation, rs []Result) {
	for i, by := range c.writtenBy {
		if i == by {
			continue
		}
		rs[i] = rs[by]
		if rs[i].Err != nil || rs[i].Outcome == pipeline.Superseded {
			continue
		}

		cameLate := i > by && ms[i].Version.Compare(ms[by].Version) < 0
		rs[i].Outcome = pipeline.Coalesced
		if cameLate {
			rs[i].Outcome = pipeline.Superseded
		}
	}
}
