package search

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Replaces reports whether m is written over what is stored of its document: an older version, or a void
// tombstone of the same version if m is not void.
func (m *Mutation) Replaces(stored record.Version, void bool) bool {
	order := m.Version.Compare(stored)
	return order > 0 || order == 0 && void && !m.Void
}

// Coalesced are the mutations of a batch of which a store writes the newest of each document.
type Coalesced struct {
	Newest []int // indexes into the batch, in its order of documents
	by     []int // of each mutation: which one writes its document
}

// Coalesce finds the newest mutation of each document.
func Coalesce(ms []Mutation) Coalesced {
	type document struct{ index, id string }
	c := Coalesced{Newest: make([]int, 0, len(ms)), by: make([]int, len(ms))}
	at := make(map[document]int, len(ms)) // into Newest
	for i := range ms {
		d := document{ms[i].Index, ms[i].ID}
		n, seen := at[d]
		if !seen {
			n = len(c.Newest)
			at[d] = n
			c.Newest = append(c.Newest, i)
		} else if newest := &ms[c.Newest[n]]; ms[i].Replaces(newest.Version, newest.Void) {
			c.Newest[n] = i
		}
		c.by[i] = n
	}
	for i, n := range c.by {
		c.by[i] = c.Newest[n]
	}
	return c
}

// Share gives the mutations that were not written the result of the one that was: they fail if it failed.
func (c Coalesced) Share(ms []Mutation, rs []Result) {
	for i, by := range c.by {
		if i == by {
			continue
		}
		rs[i] = rs[by]
		if rs[i].Err != nil || rs[i].Outcome == pipeline.Superseded {
			continue
		}
		rs[i].Outcome = pipeline.Coalesced
		if i > by && ms[i].Version.Compare(ms[by].Version) < 0 {
			rs[i].Outcome = pipeline.Superseded
		}
	}
}
