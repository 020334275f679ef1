package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// before reports whether c comes before d in the order of claims on a row; the first one has the
// row. They are ordered by the bytes of their items' keys, so that the order of arrival does not
// matter. With Last the latest change comes first, by time, then version, then key: versions of
// different items do not tell which change is later, but all processes must agree on one.
func before(c, d *state.Claim, rule Collision) bool {
	byKey := strings.Compare(string(c.Source), string(d.Source))
	if rule != Last {
		return byKey < 0
	}
	return cmp.Or(c.Time.Compare(d.Time), c.Version.Compare(d.Version), byKey) > 0
}

// put replaces the item's claim by c. The owner changes if c comes before the owner's claim, or if c
// is the owner's and a waiting claim now comes before it.
func (s *RowClaims) put(c state.Claim, rule Collision) {
	if s.Owner.Source == c.Source || s.Owner.Source == "" {
		s.Owner = c
	} else {
		s.forget(c.Source)
		s.Waiting = append(s.Waiting, c)
	}
	if i := s.next(rule); i >= 0 && before(&s.Waiting[i], &s.Owner, rule) {
		s.Waiting[i], s.Owner = s.Owner, s.Waiting[i]
	}
}

// drop removes the item's claim. If it held the row, the first waiting claim gets it.
func (s *RowClaims) drop(source item.Key, rule Collision) {
	if s.Owner.Source != source {
		s.forget(source)
		return
	}
	s.Owner = state.Claim{}
	if i := s.next(rule); i >= 0 {
		s.Owner = s.Waiting[i]
		s.remove(i)
	}
}

// next is the index of the first waiting claim; -1 if none waits.
func (s *RowClaims) next(rule Collision) int {
	front := -1
	for i := range s.Waiting {
		if front < 0 || before(&s.Waiting[i], &s.Waiting[front], rule) {
			front = i
		}
	}
	return front
}

// waits reports whether the item's claim waits.
func (s *RowClaims) waits(source item.Key) bool { return s.index(source) >= 0 }

func (s *RowClaims) index(source item.Key) int {
	return slices.IndexFunc(s.Waiting, func(c state.Claim) bool { return c.Source == source })
}

func (s *RowClaims) forget(source item.Key) {
	if i := s.index(source); i >= 0 {
		s.remove(i)
	}
}

// remove takes a waiting claim out: they are in no order.
func (s *RowClaims) remove(i int) {
	last := len(s.Waiting) - 1
	s.Waiting[i] = s.Waiting[last]
	s.Waiting[last] = state.Claim{}
	s.Waiting = s.Waiting[:last]
}
