package consume

import (
	"context"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// item has the attributes of an item of the source table that the sinks use.
type item struct {
	PK, SK, Status, Customer, Total, Write string
}

// itemOf parses an item in DynamoDB JSON.
func itemOf(t *testing.T, b []byte) item {
	t.Helper()
	var raw map[string]struct{ S, N string }
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	return item{raw["PK"].S, raw["SK"].S, raw["Status"].S, raw["Customer"].S, raw["Total"].N, raw["Write"].N}
}

// number returns a decimal in one spelling, so that equal numbers are equal strings.
func number(s string) string {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return "not a number: " + s
	}
	return r.RatString()
}

// model returns the rows that the sinks must hold for the items of the table.
func model(items []item) map[string]map[string]string {
	rows := make(map[string]map[string]string)
	type group struct {
		n     int64
		total *big.Rat
	}
	groups := make(map[string]*group)
	for _, i := range items {
		key := escaped(i.PK) + "," + escaped(i.SK)
		rows[key+" order"] = map[string]string{"status": i.Status, "total": number(i.Total), "write": number(i.Write)}
		rows["STATUS#"+i.Status+" "+key] = map[string]string{"write": number(i.Write)}
		g := groups[i.Customer]
		if g == nil {
			g = &group{total: new(big.Rat)}
			groups[i.Customer] = g
		}
		g.n++
		if r, ok := new(big.Rat).SetString(i.Total); ok {
			g.total.Add(g.total, r)
		}
	}
	for customer, g := range groups {
		rows[customer+" total"] = map[string]string{"n": big.NewInt(g.n).String(), "total": g.total.RatString()}
	}
	return rows
}

// escaped returns a key attribute as it is spelled in a canonical key.
func escaped(s string) string { return strings.ReplaceAll(s, "#", "%23") }

// converge waits until the sinks hold the rows that follow from the items. If they never do, it fails the test with the
// difference.
func (w *world) converge(t *testing.T, items func() []item) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		rows, err := w.rows(ctx)
		diff := ""
		if err == nil {
			if diff = cmp.Diff(model(items()), rows); diff == "" {
				return
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("after %v the sinks do not hold what the table says (%v), (-want +got):\n%.4000s", patience, err, diff)
		}
	}
}
