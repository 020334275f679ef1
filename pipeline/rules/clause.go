package rules

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Clause is what one condition of this package asks, for those who have a part of
// it asked before the change gets here, as Lambda's filters can.
type Clause struct {
	Kind       ClauseKind
	Parts      []pipeline.Condition // of AllOf and AnyOf, in the order in which they are asked; the one of NotOf
	Operations []record.Operation   // of OperationIn
	Attribute  string               // of EntityIn, and of KeyStarts the key attribute
	Texts      []string             // the names of EntityIn; the one prefix of KeyStarts
}

// ClauseKind is the kind of a [Clause].
type ClauseKind uint8

// The kinds of clauses. Only an OtherClause and a Comparison can fail.
const (
	OtherClause ClauseKind = iota // what this package does not know, an expression or a function
	AllOf
	AnyOf
	NotOf
	OperationIn // see [Operations]
	EntityIn    // see [Entity]
	KeyStarts   // see [KeyPrefix]
	Expired     // see [TTLDeletes]
	MayExpire   // see [ProbableTTL]
	Comparison  // of the old image with the new: [Changed], [Unchanged], [NoChange], [ReplicationEchoes]
)

// ClauseOf is what c asks.
func ClauseOf(c pipeline.Condition) Clause {
	switch c := c.(type) {
	case all:
		return Clause{Kind: AllOf, Parts: slices.Clone(c)}
	case anyOf:
		return Clause{Kind: AnyOf, Parts: slices.Clone(c)}
	case not:
		return Clause{Kind: NotOf, Parts: []pipeline.Condition{c.Condition}}
	case operations:
		k := Clause{Kind: OperationIn}
		for op := record.Unknown; op <= record.Snapshot; op++ {
			if c>>op&1 != 0 {
				k.Operations = append(k.Operations, op)
			}
		}
		return k
	case entity:
		return Clause{Kind: EntityIn, Attribute: c.attribute, Texts: slices.Clone(c.names)}
	case keyPrefix:
		return Clause{Kind: KeyStarts, Attribute: c.attribute, Texts: []string{c.prefix}}
	case ttlDeletes:
		return Clause{Kind: Expired}
	case probableTTL:
		return Clause{Kind: MayExpire}
	case sameness, changed:
		return Clause{Kind: Comparison}
	}
	return Clause{}
}

// KeptBy is the condition of the changes that f keeps, where f is a [Keep] or a [Drop].
func KeptBy(f pipeline.Filter) (c pipeline.Condition, ok bool) {
	k, ok := f.(filter)
	if ok && k.drop {
		return Not(k.Condition), true
	}
	return k.Condition, ok
}
