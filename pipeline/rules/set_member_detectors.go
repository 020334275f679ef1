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
func MemberAdded(path item.Path) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		for _, m := range membersOnlyIn(c.New, c.Old, path) {
			dst = append(dst, pipeline.Event{Path: path.String(), New: m.value})
		}
		return dst
	}}
}

// MemberRemoved is a detector that raises an event for every member that the set at path has only in the old image.
// Event.Old is the member, and Event.New is absent. See [MemberAdded] for the rest.
func MemberRemoved(path item.Path) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		for _, m := range membersOnlyIn(c.Old, c.New, path) {
			dst = append(dst, pipeline.Event{Path: path.String(), Old: m.value})
		}
		return dst
	}}
}

// membersOnlyIn returns the sorted members that the set at path has in an image, but not in the other one.
func membersOnlyIn(image, other item.Image, path item.Path) []member {
	set, _ := image.At(path)
	otherSet, _ := other.At(path)
	if !isSet(set) || set.Equal(otherSet) {
		return nil
	}
	otherMembers := membersOf(otherSet)
	return slices.DeleteFunc(membersOf(set), func(m member) bool {
		_, isInOther := slices.BinarySearchFunc(otherMembers, m, member.compare)
		return isInOther
	})
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
