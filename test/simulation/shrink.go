package simulation

import (
	"slices"
	"time"
)

// Shrink makes the plan of a failing run smaller, as long as the same rule is broken: it leaves events out, makes the
// remaining ones smaller, and removes the special features of the world. runs is the maximum number of plans that it
// tries.
func Shrink(p Plan, make Maker, rule string, runs int) Plan {
	fails := func(q Plan) bool {
		runs--
		if runs < 0 {
			return false
		}
		b := Run(q, make, false).Breach
		return b != nil && b.Rule == rule
	}
	for again := true; again && runs > 0; {
		p.Events, again = fewer(p, fails)
		for i := range p.Events {
			for _, less := range lesser {
				q := p
				q.Events = slices.Clone(p.Events)
				was, now := p.Events[i], &q.Events[i]
				less(now)
				isEmpty := was.Kind == Writes && now.N <= 0 || now.For <= time.Microsecond
				if *now != was && !isEmpty && fails(q) {
					p, again = q, true
				}
			}
		}
		for _, plain := range simpler {
			q := p
			plain(&q.Shape)
			if q.Shape != p.Shape && fails(q) {
				p, again = q, true
			}
		}
	}
	return p
}

// fewer leaves out events, in ever smaller groups.
func fewer(p Plan, fails func(Plan) bool) ([]Event, bool) {
	events, some := p.Events, false
	for size := (len(events) + 1) / 2; size > 0; size /= 2 {
		for i := 0; i < len(events); {
			q := p
			q.Events = slices.Delete(slices.Clone(events), i, min(i+size, len(events)))
			if fails(q) {
				events, some = q.Events, true
			} else {
				i += size
			}
		}
	}
	return events, some
}

// lesser are the ways in which an event becomes smaller.
var lesser = []func(*Event){
	func(e *Event) { e.N /= 2 },
	func(e *Event) { e.For /= 2 },
	func(e *Event) { e.Rate = 1 },
}

// simpler are the ways in which a world becomes less special.
var simpler = []func(*Shape){
	func(s *Shape) { s.Tables = 1 },
	func(s *Shape) { s.Empty = 0 },
	func(s *Shape) { s.Page = 1000 },
	func(s *Shape) { s.Linger = 0 },
	func(s *Shape) { s.Idlers = min(s.Idlers, 1) },
	func(s *Shape) { s.Idlers = 0 },
	func(s *Shape) { s.ListLag = 0 },
	func(s *Shape) { s.OpenLag = 0 },
	func(s *Shape) { s.Undecodable = 0 },
	func(s *Shape) { s.BeforeStart = 0 },
	func(s *Shape) { s.SplitsBefore = 0 },
	func(s *Shape) { s.NewestFirst = false },
	func(s *Shape) { s.EmptyEnd = false },
	func(s *Shape) { s.StrictTrim = false },
	func(s *Shape) { s.RefuseBelow = false },
	func(s *Shape) { s.NoTimestamps = false },
	func(s *Shape) { s.FirstStart = 0 },
	func(s *Shape) { s.Children = 0 },
	func(s *Shape) { s.Start = FromOldest },
	func(s *Shape) { s.Shards = 1 },
	func(s *Shape) { s.Keys = min(s.Keys, 4) },
}
