package explain

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// The filter keeps every change that is written. It tests the key attribute that saves most.
func TestIdleChanges(t *testing.T) {
	type change struct {
		keys  string
		idle  bool
		reads float64
	}
	const order, user, plain = `{"PK":{"S":"U#1"},"SK":{"S":"ORDER#1"}}`, `{"PK":{"S":"U#1"},"SK":{"S":"PROFILE#1"}}`, `{"PK":{"S":"U#1"},"SK":{"S":"META"}}`
	const named = `{"PK":{"S":"U#1"},"SK":{"S":"anna"}}`
	for _, tt := range []struct {
		name    string
		changes []change
		filter  string
		saved   float64
	}{
		{"none", nil, "", 0},
		{"all are written", []change{{order, false, 1}, {user, false, 1}}, "", 0},
		{"none is written", []change{{order, true, 1}}, "", 0},
		{"by the sort key", []change{{order, false, 1}, {user, true, 2}, {plain, true, 3}}, "{key_prefix: {SK: 'ORDER#'}}", 5},
		{"of two prefixes", []change{{order, false, 1}, {user, false, 2}, {plain, true, 3}}, "{any: [{key_prefix: {SK: 'ORDER#'}}, {key_prefix: {SK: 'PROFILE#'}}]}", 3},
		{"written with a fixed key", []change{{plain, false, 1}, {user, true, 2}}, "{key_prefix: {SK: 'META'}}", 2},
		{"written without a prefix", []change{{named, false, 1}, {user, true, 2}}, "", 0},
		{"idle with the prefix", []change{{order, false, 1}, {order, true, 2}}, "", 0},
	} {
		c := make(idleChanges)
		for _, change := range tt.changes {
			keys, err := item.Parse([]byte(change.keys))
			if err != nil {
				t.Fatal(err)
			}
			cost := dynamo.Cost{WriteUnits: 1, ReadUnits: change.reads}
			if change.idle {
				cost.WriteUnits = 0
			}
			c.add(keys, cost)
		}
		if filter, saved := c.filter(); filter != tt.filter || saved != tt.saved {
			t.Errorf("%s: %q saves %g, want %q, %g", tt.name, filter, saved, tt.filter, tt.saved)
		}
	}
}
