package backfill

import (
	"slices"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// checkTypes returns an error if all sinks of the run refuse a type of --type, by their own `when` or by the `when` of
// their entities. It checks only conditions that list the types that they accept.
func (j *job) checkTypes() error {
	for _, t := range j.o.narrowing.Types {
		attribute, name, err := snapshot.ParseType(t)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		accepted, isLimited := j.acceptedTypes(attribute)
		if isLimited && !slices.Contains(accepted, name) {
			return cli.Usagef("--type %s: no sink that is filled takes items with this %s: %s", t, attribute,
				yamlbind.Hint(name, accepted, "they take"))
		}
	}
	return nil
}

// acceptedTypes returns the values of an attribute that at least one sink of the run accepts. isLimited is false if a
// sink may accept other values too.
func (j *job) acceptedTypes(attribute string) (accepted []string, isLimited bool) {
	for _, s := range j.selectedSinks() {
		var conditions []expr.Clause
		if s.WhenItem != nil {
			conditions = append(conditions, s.WhenItem.Clause())
		}
		if len(s.Entities) > 0 {
			conditions = append(conditions, j.entityClause(s.Entities))
		}
		texts, isLimited := textsOf(expr.Clause{Kind: expr.AllOf, Parts: conditions}, attribute)
		if !isLimited {
			return nil, false
		}
		accepted = append(accepted, texts...)
	}
	slices.Sort(accepted)
	return slices.Compact(accepted), true
}

// entityClause returns the clause that is true if the `when` of one of the entities is.
func (j *job) entityClause(names []string) expr.Clause {
	anyOf := expr.Clause{Kind: expr.AnyOf}
	for _, name := range names {
		i := slices.IndexFunc(j.cfg.Entities, func(e config.Entity) bool { return e.Name == name })
		if i < 0 || j.cfg.Entities[i].When == nil {
			return expr.Clause{}
		}
		anyOf.Parts = append(anyOf.Parts, j.cfg.Entities[i].When.Clause())
	}
	return anyOf
}

// textsOf returns the values of an attribute for which a clause can be true. isLimited is false if the values are not
// listed in the clause.
func textsOf(c expr.Clause, attribute string) (texts []string, isLimited bool) {
	switch {
	case c.Kind == expr.TextIn && c.Attribute == attribute:
		return c.Texts, true
	case c.Kind == expr.AllOf:
		for _, part := range c.Parts {
			if texts, isLimited := textsOf(part, attribute); isLimited {
				return texts, true
			}
		}
	case c.Kind == expr.AnyOf:
		for _, part := range c.Parts {
			more, isLimited := textsOf(part, attribute)
			if !isLimited {
				return nil, false
			}
			texts = append(texts, more...)
		}
		return texts, len(c.Parts) > 0
	}
	return nil, false
}
