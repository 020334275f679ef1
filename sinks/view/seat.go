package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
)

// before tells which of the claims of two items on one row has it: that of the smaller key,
// by bytes, so that whoever came first is nothing that a reader sees. Under Last it is the
// one that changed last, by time, then version, then key: versions of different items say
// nothing of which came last, but all workers must see the same one in front.
func (c *Claim) before(d *Claim, rule Collision) bool {
	byKey := strings.Compare(string(c.Source), string(d.Source))
	if rule != Last {
		return byKey < 0
	}
	return cmp.Or(c.Time.Compare(d.Time), c.Version.Compare(d.Version), byKey) > 0
}

// put gives the item of c this claim in place of the one that it may have. Where it is in
// front of the holder's, or the holder's own is no more so, the row changes hands.
func (s *Seat) put(c Claim, rule Collision) {
	if s.Holder.Source == c.Source || s.Holder.Source == "" {
		s.Holder = c
	} else {
		s.forget(c.Source)
		s.Waiting = append(s.Waiting, c)
	}
	if i := s.next(rule); i >= 0 && s.Waiting[i].before(&s.Holder, rule) {
		s.Waiting[i], s.Holder = s.Holder, s.Waiting[i]
	}
}

// drop takes the item's claim away. Where it held the row, the next has it.
func (s *Seat) drop(source pipeline.Key, rule Collision) {
	if s.Holder.Source != source {
		s.forget(source)
		return
	}
	s.Holder = Claim{}
	if i := s.next(rule); i >= 0 {
		s.Holder = s.Waiting[i]
		s.remove(i)
	}
}

// next is the index of the claim that is in front of those who wait, -1 where none does.
func (s *Seat) next(rule Collision) int {
	front := -1
	for i := range s.Waiting {
		if front < 0 || s.Waiting[i].before(&s.Waiting[front], rule) {
			front = i
		}
	}
	return front
}

// waits tells whether the item has a claim and not the row.
func (s *Seat) waits(source pipeline.Key) bool { return s.index(source) >= 0 }

func (s *Seat) index(source pipeline.Key) int {
	return slices.IndexFunc(s.Waiting, func(c Claim) bool { return c.Source == source })
}

func (s *Seat) forget(source pipeline.Key) {
	if i := s.index(source); i >= 0 {
		s.remove(i)
	}
}

// remove takes a waiting claim out: they are in no order.
func (s *Seat) remove(i int) {
	last := len(s.Waiting) - 1
	s.Waiting[i] = s.Waiting[last]
	s.Waiting[last] = Claim{}
	s.Waiting = s.Waiting[:last]
}
