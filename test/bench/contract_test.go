package main

import (
	"maps"
	"slices"
	"testing"
)

// budget is the budget of a row.
type budget struct {
	least, most float64
	allocs      float64 // -1: no budget
}

// budgets are the budgets of the project, by the id of the row.
var budgets = map[string]budget{
	"event":   {least: 40, allocs: 1},
	"valid":   {least: validBudget(), allocs: 1},
	"page":    {least: 10, allocs: -1},
	"diff":    {least: 30, allocs: 0},
	"decode":  {least: 5, allocs: -1},
	"json":    {least: 15, allocs: -1},
	"cel":     {most: 1.25, allocs: 6},
	"handler": {least: 10, allocs: -1},
	"consume": {least: 4, allocs: -1},
	"kcl":     {least: 18, allocs: -1},

	"kcl-memory": {most: 0.1, allocs: -1},

	"powertools": {least: 50, allocs: -1},
	"processes":  {least: 1.8, allocs: -1},

	"pipeline": {least: 0.35, allocs: 2},
	"entities": {least: 0.95, allocs: 2},
	"backfill": {least: 0.9, allocs: -1},
	"audit":    {least: 0.8, allocs: -1},
	"cores":    {least: 1.7, allocs: -1},
	"resident": {most: 1, allocs: -1},
	"flight":   {most: 3, allocs: -1},

	"growth-records":    {most: 1.1, allocs: -1},
	"growth-shards":     {most: 1.1, allocs: -1},
	"growth-attributes": {most: 1.1, allocs: -1},
	"growth-reader":     {most: 1.1, allocs: -1},
}

// Each budget has its row. Each row with the id of a budget and without a variant has this budget.
func TestContract(t *testing.T) {
	missing := maps.Clone(budgets)
	seen := map[string]bool{}
	for _, r := range rows() {
		if seen[r.name()] {
			t.Errorf("there are two rows %q", r.name())
		}
		seen[r.name()] = true
		if r.work == "" || r.peer == "" || r.of.of == nil || r.open == nil {
			t.Errorf("%s: it lacks what it does, or against whom", r.name())
		}
		want, ok := budgets[r.id]
		if r.servers || r.variant != "" {
			continue
		}
		if !ok {
			t.Errorf("%s: it has no budget", r.name())
			continue
		}
		got := budget{r.least, r.most, -1}
		if r.allocs != nil {
			got.allocs = *r.allocs
		}
		if got != want {
			t.Errorf("%s: its budget is %+v, want %+v", r.name(), got, want)
		}
		delete(missing, r.id)
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s: there is no such row", id)
	}
}
