package rules

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Clause describes a condition of this package. With such a description, a source such as Lambda can evaluate a part of
// a condition in its own filters, before it delivers the change.
type Clause struct {
	Kind       ClauseKind
	Parts      []pipeline.Condition // parts of AllOf and AnyOf, in the order of evaluation; the single part of NotOf
	Operations []record.Operation   // operations of OperationIn
	Attribute  string               // attribute of EntityIn; key attribute of KeyStarts
	Texts      []string             // names of EntityIn; the single prefix of KeyStarts
	Scope      *entity.Scope        // entities of KeyOf
	CanFail    bool                 // of a KeyOf: it also evaluates conditions of entities, which can fail
}

// ClauseKind is the kind of a [Clause].
type ClauseKind uint8

// The kinds of clauses. An OtherClause, a Comparison, and a KeyOf with CanFail can fail. So can a clause that contains
// one of them. No other clause can fail.
const (
	OtherClause ClauseKind = iota // not a condition of this package: an expression or a function
	AllOf
	AnyOf
	NotOf
	OperationIn // see [Operations]
	EntityIn    // see [Entity]
	KeyStarts   // see [KeyPrefix]
	KeyOf       // see [OfEntities] and [OfKeys]
	Expired     // see [TTLDeletes]
	MayExpire   // see [ProbableTTL]
	Comparison  // compares the images: [Changed], [Unchanged], [NoChange], [ReplicationEchoes]
)

// ClauseOf returns the description of c. Its kind is OtherClause if c is not a condition of this package.
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
	case entityIn:
		return Clause{Kind: EntityIn, Attribute: c.attribute, Texts: slices.Clone(c.names)}
	case keyPrefix:
		return Clause{Kind: KeyStarts, Attribute: c.attribute, Texts: []string{c.prefix}}
	case ofKeys:
		return Clause{Kind: KeyOf, Scope: c.scope}
	case ofEntities:
		return Clause{Kind: KeyOf, Scope: c.scope, CanFail: true}
	case ttlDeletes:
		return Clause{Kind: Expired}
	case probableTTL:
		return Clause{Kind: MayExpire}
	case noChange, changed:
		return Clause{Kind: Comparison}
	}
	return Clause{}
}

// KeptCondition returns the condition that is true for the changes that f keeps. It returns false if f was made by
// neither [Keep] nor [Drop].
func KeptCondition(f pipeline.Filter) (c pipeline.Condition, ok bool) {
	k, ok := f.(filter)
	switch {
	case !ok:
		return nil, false
	case k.drop:
		return Not(k.Condition), true
	}
	return k.Condition, true
}
