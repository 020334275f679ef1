package model

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// change is a record with the fields that the documentation derives from it.
type change struct {
	sinktest.Record
	key     string // canonical
	version string

	mayReplace bool // an insert that may follow an expired item with its key, whose TTL delete did not reach the sink
}

func changeOf(r sinktest.Record) change {
	_, label, _ := strings.Cut(sinktest.StreamARN, "/stream/")
	at, err := time.Parse("2006-01-02T15:04:05.000", label)
	if err != nil {
		panic(err)
	}
	n, ok := new(big.Int).SetString(r.Sequence, 10)
	if !ok {
		panic("no sequence number: " + r.Sequence)
	}
	return change{Record: r, key: CanonicalKey(r.Keys), version: fmt.Sprintf("%010d%040s", at.Unix(), n)}
}

// Run returns the final state after records arrive in this order. Any other order across items must lead to the same
// state.
func (c Config) Run(records []sinktest.Record) State {
	s := newState()
	s.Source = Source{Read: int64(len(records)), Filtered: map[string]int64{}}
	var arrived []change
	for _, r := range records {
		if reason, is := passes(c.Filters, r); is == found {
			arrived = append(arrived, changeOf(r))
		} else {
			s.Source.Filtered[reason]++
		}
	}
	routed := map[string]bool{}
	for _, sink := range c.Sinks {
		count := &Count{Dropped: map[string]int64{}}
		var mine, unknown []change
		for i, ch := range arrived {
			reason, is := sink.takes(ch.Record)
			if is == found && sink.Archive.excludes(ch) {
				reason, is = "when", missing
			}
			ch.mayReplace = ch.Old == nil && dropsTTLDeletes(slices.Concat(c.Filters, sink.Filters))
			switch is {
			case missing:
				count.Dropped[reason]++
				continue
			case failed:
				unknown = append(unknown, ch)
			default:
				mine = append(mine, ch)
			}
			routed[fmt.Sprint(i)] = true
		}
		count.Routed = int64(len(mine) + len(unknown))
		part := sink.scoped().run(c, mine, count)
		for _, ch := range unknown {
			part.requireLetter(sink.Name, ch, count)
		}
		part.Counts = map[string]*Count{sink.Name: count}
		s.add(part)
	}
	s.Source.Routed = int64(len(routed))
	s.Source.Unrouted = int64(len(arrived) - len(routed))
	return s
}

func (s Sink) run(c Config, cs []change, count *Count) State {
	switch {
	case s.View != nil && s.View.ForEach != nil:
		return s.View.rowsOfElements(s.Name, cs, count)
	case s.View != nil && s.View.GuardsItself():
		return s.View.ownRows(s.Name, cs, count)
	case s.View != nil:
		return s.View.sharedRows(s.Name, cs, count)
	case s.Aggregate != nil:
		return s.Aggregate.groups(s.Name, cs, count)
	case s.Search != nil:
		return s.Search.documents(s.Name, c.Name, cs, count)
	case s.Archive != nil:
		return s.Archive.archived(s.Name, cs, count)
	default:
		return s.Notify.events(s.Name, c.Detectors, cs, count)
	}
}

func dropsTTLDeletes(fs []Filter) bool {
	return slices.ContainsFunc(fs, func(f Filter) bool { return f.TTLDeletes })
}

// passes reports whether filters let a record through; otherwise it returns the reason that counts it.
func passes(fs []Filter, r sinktest.Record) (reason string, is verdict) {
	for _, f := range fs {
		switch {
		case f.TTLDeletes:
			reason, is = "ttl_deletes", yes(!r.TTL)
		case f.Of != nil:
			reason, is = "keep_of", f.Of.has(latest(r))
		default:
			reason, is = "keep_key_prefix", yes(strings.HasPrefix(r.Keys.Text(f.Attribute), f.Prefix))
		}
		if is != found {
			return reason, is
		}
	}
	return "", found
}

// holds evaluates a condition on an item. A nil condition holds for every item, and no condition holds for a nil
// item.
func holds(when *Condition, it sinktest.Item) verdict {
	switch {
	case it == nil:
		return missing
	case when == nil:
		return found
	}
	return when.eval(it)
}
