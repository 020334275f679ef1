package dynamo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// expression builds the expressions of an update. The zero expression is empty.
type expression struct {
	names            map[string]string
	values           Item
	set, remove, add []string
}

// name returns the alias of an attribute. Aliases are needed because many names are reserved words.
func (e *expression) name(attr string) string {
	if e.names == nil {
		e.names = make(map[string]string)
	}
	alias := "#" + attr
	e.names[alias] = attr
	return alias
}

// placeholder returns the alias of a value.
func (e *expression) placeholder(v types.AttributeValue) string {
	if e.values == nil {
		e.values = make(Item)
	}
	alias := fmt.Sprintf(":%d", len(e.values))
	e.values[alias] = v
	return alias
}

// put adds an assignment of a value to an attribute.
func (e *expression) put(attr string, v types.AttributeValue) {
	e.set = append(e.set, e.name(attr)+" = "+e.placeholder(v))
}

// drop adds the removal of attributes.
func (e *expression) drop(attrs ...string) {
	for _, a := range attrs {
		e.remove = append(e.remove, e.name(a))
	}
}

// changes returns the UpdateExpression.
func (e *expression) changes() string {
	var parts []string
	for _, clause := range []struct {
		verb  string
		terms []string
	}{{"SET", e.set}, {"REMOVE", e.remove}, {"ADD", e.add}} {
		if len(clause.terms) > 0 {
			parts = append(parts, clause.verb+" "+strings.Join(clause.terms, ", "))
		}
	}
	return strings.Join(parts, " ")
}

// condition returns the condition that the row has old's owner and counter. An empty owner equals an absent owner.
// While KCL hands a lease over, the owner is in checkpointOwner.
func (e *expression) condition(old leases.Lease) string {
	owner, handover, counter := e.name(attrOwner), e.name(attrCheckpointOwner), e.name(attrCounter)
	empty := e.placeholder(textAttribute(""))
	isEmpty := func(attr string) string {
		return "(attribute_not_exists(" + attr + ") OR " + attr + " = " + empty + ")"
	}
	ownerMatches := "(" + isEmpty(owner) + " AND " + isEmpty(handover) + ")"
	if old.Owner != "" {
		oldOwner := e.placeholder(textAttribute(old.Owner))
		ownerMatches = "(" + handover + " = " + oldOwner + " OR " + owner + " = " + oldOwner + " AND " + isEmpty(handover) + ")"
	}
	counterMatches := counter + " = " + e.placeholder(number(old.Counter))
	if old.Counter == 0 {
		counterMatches = "(attribute_not_exists(" + counter + ") OR " + counterMatches + ")"
	}
	return "attribute_exists(" + e.name(attrKey) + ") AND " + ownerMatches + " AND " + counterMatches
}

// update returns the changes from old to next, and the changes that KCL would make in the same write.
func update(old, next leases.Lease) *expression {
	e := new(expression)
	before, after := encode(old), encode(next)
	delete(before, attrCounter) // always write the counter, so that the expression is never empty
	for _, attr := range slices.Sorted(maps.Keys(after)) {
		if !equal(before[attr], after[attr]) {
			e.put(attr, after[attr])
		}
	}
	for _, attr := range slices.Sorted(maps.Keys(before)) {
		if _, isKept := after[attr]; !isKept {
			e.drop(attr)
		}
	}
	if old.Owner != next.Owner {
		e.drop(attrCheckpointOwner)
	}
	changesOwner := old.Owner != "" && next.Owner != "" && old.Owner != next.Owner
	switch {
	case old.Checkpoint != next.Checkpoint:
		e.put(attrSwitches, number(0))
		e.drop(attrPending, attrPendingSub, attrPendingState)
	case changesOwner:
		e.add = append(e.add, e.name(attrSwitches)+" "+e.placeholder(number(1)))
	}
	return e
}

// equal compares values that encode returns.
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
