package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// MemberAdded is a detector that raises an event for every member that the set at path has only in the new image.
// Event.New is the member, as an S, an N or a B, and Event.Old is absent. Events are sorted by member: texts and
// binaries by their bytes, numbers by their value. An absent value, or a value that is not a set, counts as a set
// without members. So an INSERT adds all members, and a REMOVE removes all.
func MemberAdded(path item.Path) pipeline.Detector { return membershipDetector(path, true) }

// MemberRemoved is a detector that raises an event for every member that the set at path has only in the old image.
// Event.Old is the member, and Event.New is absent. See [MemberAdded] for the rest.
func MemberRemoved(path item.Path) pipeline.Detector { return membershipDetector(path, false) }

// membershipDetector raises events for the members that only the new set has if added is true. Otherwise it raises
// events for the members that only the old set has.
func membershipDetector(path item.Path, added bool) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		from, _ := c.Old.At(path)
		to, _ := c.New.At(path)
		if !isSet(from) && !isSet(to) || from.Equal(to) {
			return dst
		}
		if !added {
			from, to = to, from
		}
		known := membersOf(from)
		for _, e := range membersOf(to) {
			if _, isKnown := slices.BinarySearchFunc(known, e, member.compare); isKnown {
				continue
			}
			event := pipeline.Event{Path: path.String(), New: e.value}
			if !added {
				event = pipeline.Event{Path: path.String(), Old: e.value}
			}
			dst = append(dst, event)
		}
		return dst
	}}
}

// member is a member of a set with its sort key.
type member struct {
	value  item.Value
	number decimal.Decimal // sort key of an N
	text   string          // sort key of an S or a B
}

func (m member) compare(n member) int {
	return cmp.Or(
		cmp.Compare(m.value.Kind(), n.value.Kind()),
		m.number.Cmp(n.number),
		strings.Compare(m.text, n.text),
	)
}

func isSet(v item.Value) bool {
	switch v.Kind() {
	case item.KindSS, item.KindNS, item.KindBS:
		return true
	default:
		return false
	}
}

// membersOf returns the sorted members of a set, or none for a value that is not a set.
func membersOf(v item.Value) []member {
	if !isSet(v) {
		return nil
	}
	ms := make([]member, 0, v.Len())
	for _, e := range v.Elements() {
		m := member{value: e}
		switch e.Kind() {
		case item.KindS:
			m.text, _ = e.Text()
		case item.KindN:
			m.number, _ = e.Number()
		default:
			b, _ := e.Bytes()
			m.text = string(b)
		}
		ms = append(ms, m)
	}
	slices.SortFunc(ms, member.compare)
	return ms
}
