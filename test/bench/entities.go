package main

import (
	"context"
	"fmt"
)

// entitiesRows measure pipelines whose rules name an entity, beside pipelines with the same rules as expressions.
func entitiesRows() []row {
	r := row{
		id:   "entities",
		work: "the pipeline of the row above about orders: a transition, a view and search documents that are `of: Order`, with names that the key binds",
		peer: "the same rules by `when: item.Type == ...`, with parts of the key cut out by `after` and `before`",
		note: "stores that only count; memory is collected as the commands have it, on both sides",
		of:   rate, least: 0.95, allocs: new(2.0),
		open: func(ctx context.Context, b *bench) (*contest, error) {
			return openEntities(ctx, b, [2]string{"{Date}#{@key}", "{UserId}"}, [2]string{"{SK|after:ORDER#|before:#}#{@key}", "{PK|after:USER#}"})
		},
	}
	alone := r
	alone.work = "the same rules, with templates that read no name of the key"
	alone.variant, alone.peer = "conditions alone", "the same rules by `when: item.Type == ...`, with the same templates"
	alone.open = func(ctx context.Context, b *bench) (*contest, error) {
		same := [2]string{"{@key}", "{PK}"}
		return openEntities(ctx, b, same, same)
	}
	return []row{r, alone}
}

// entitiesText is a file whose rules are about orders. It has places for the declared entities, for the condition of a
// detector and of a sink on orders, and for the customer and the day of an order.
const entitiesText = `version: 1
name: bench
source: {table: bench}
state: {table: bench-state}
connections: {os: {opensearch: 'https://localhost:9200', auth: sigv4}}
%sfilters: [{drop: ttl_deletes}]
detect:
  completed: {%s, attribute: Status, to: completed}
sinks:
  rows: {view: {%s, table: views, key: {PK: 'BY#{Currency}', SK: '%s'}, attributes: {total: '{Total}', customer: '%s', note: '{Note}'}}}
  documents: {search: {%s, connection: os, index: documents}}
  history: {custom: {name: history}}
`

// openEntities compares both kinds of rules. bound and cut have the templates of the row's sort key and of the
// customer: bound uses names that the key binds, and cut uses paths.
func openEntities(ctx context.Context, b *bench, bound, cut [2]string) (*contest, error) {
	const entities = `entities:
  User: {key: {PK: 'USER#{UserId}', SK: PROFILE}}
  Order: {key: {PK: 'USER#{UserId}', SK: 'ORDER#{Date}#{OrderId}'}}
  Product: {key: {PK: 'PRODUCT#{ProductId}', SK: META}}
`
	of, when := "of: Order", `when: 'item.Type == "Order"'`
	s := usual()
	bodies, records := s.pages(8)
	ours, err := newWholeOf(ctx, fmt.Sprintf(entitiesText, entities, of, of, bound[0], bound[1], of), s, bodies)
	if err != nil {
		return nil, err
	}
	peer, err := newWholeOf(ctx, fmt.Sprintf(entitiesText, "", `when: 'new.Type == "Order"'`, when, cut[0], cut[1], when), s, bodies)
	if err != nil {
		return nil, err
	}
	c, err := agree(ctx, b, records, ours.run, peer.run)
	if err == nil {
		c.close = collectAsCommands()
	}
	return c, err
}
