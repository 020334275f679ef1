package dynamo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// expression is an update in the making. The zero expression is empty.
type expression struct {
	names            map[string]string
	values           Item
	set, remove, add []string
}

// name is an attribute's name as expressions have it: many are reserved words.
func (e *expression) name(attr string) string {
	if e.names == nil {
		e.names = make(map[string]string)
	}
	alias := "#" + attr
	e.names[alias] = attr
	return alias
}

func (e *expression) value(v types.AttributeValue) string {
	if e.values == nil {
		e.values = make(Item)
	}
	alias := fmt.Sprintf(":%d", len(e.values))
	e.values[alias] = v
	return alias
}

func (e *expression) put(attr string, v types.AttributeValue) {
	e.set = append(e.set, e.name(attr)+" = "+e.value(v))
}

func (e *expression) drop(attrs ...string) {
	for _, a := range attrs {
		e.remove = append(e.remove, e.name(a))
	}
}

// changes is the UpdateExpression.
func (e *expression) changes() string {
	var parts []string
	for _, clause := range []struct {
		verb string
		of   []string
	}{{"SET", e.set}, {"REMOVE", e.remove}, {"ADD", e.add}} {
		if len(clause.of) > 0 {
			parts = append(parts, clause.verb+" "+strings.Join(clause.of, ", "))
		}
	}
	return strings.Join(parts, " ")
}

// condition holds while the row has old's owner and counter. An empty owner is as good
// as none; while KCL hands a lease over, the owner is checkpointOwner.
func (e *expression) condition(old leases.Lease) string {
	owner, handing, counter := e.name(attrOwner), e.name(attrCheckpointOwner), e.name(attrCounter)
	none := e.value(text(""))
	nobody := func(attr string) string { return "(attribute_not_exists(" + attr + ") OR " + attr + " = " + none + ")" }
	is := "(" + nobody(owner) + " AND " + nobody(handing) + ")"
	if old.Owner != "" {
		v := e.value(text(old.Owner))
		is = "(" + handing + " = " + v + " OR " + owner + " = " + v + " AND " + nobody(handing) + ")"
	}
	at := counter + " = " + e.value(number(old.Counter))
	if old.Counter == 0 {
		at = "(attribute_not_exists(" + counter + ") OR " + at + ")"
	}
	return "attribute_exists(" + e.name(attrKey) + ") AND " + is + " AND " + at
}

// update is what makes old next, and what KCL does besides.
func update(old, next leases.Lease) *expression {
	e := new(expression)
	was, is := encode(old), encode(next)
	is[attrCounter] = number(next.Counter)
	delete(was, attrCounter) // so that there is something to write always
	for _, attr := range slices.Sorted(maps.Keys(is)) {
		if !equal(was[attr], is[attr]) {
			e.put(attr, is[attr])
		}
	}
	for _, attr := range slices.Sorted(maps.Keys(was)) {
		if _, stays := is[attr]; !stays && attr != attrCounter {
			e.drop(attr)
		}
	}
	if old.Owner != next.Owner {
		e.drop(attrCheckpointOwner)
	}
	switch {
	case old.Checkpoint != next.Checkpoint:
		e.put(attrSwitches, number(0))
		e.drop(attrPending, attrPendingSub, attrPendingState)
	case old.Owner != "" && next.Owner != "" && old.Owner != next.Owner:
		e.add = append(e.add, e.name(attrSwitches)+" "+e.value(number(1)))
	}
	return e
}

// equal compares what encode makes.
func equal(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberSS:
		b, ok := b.(*types.AttributeValueMemberSS)
		return ok && slices.Equal(a.Value, b.Value)
	}
	return false
}
