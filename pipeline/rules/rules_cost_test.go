package rules_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// stages returns rules of every kind that match nothing in costChange.
func stages(t testing.TB) map[string]func(*record.Change) (bool, error) {
	path := func(s string) item.Path { return pipelinetest.MustPath(t, s) }
	pattern := func(s string) item.Pattern { return pipelinetest.MustPattern(t, s) }
	dst := make([]pipeline.Event, 0, 4)
	detect := func(d pipeline.Detector) func(*record.Change) (bool, error) {
		return func(c *record.Change) (bool, error) {
			events, err := d.Detect(dst, c)
			return len(events) > 0, err
		}
	}
	return map[string]func(*record.Change) (bool, error){
		"ttl deletes":   rules.TTLDeletes().Match,
		"probable ttl":  rules.ProbableTTL("expiresAt").Match,
		"echoes":        rules.ReplicationEchoes().Match,
		"no change":     rules.NoChange().Match,
		"entity":        rules.Entity("Type", "User").Match,
		"key prefix":    rules.KeyPrefix("PK", "ORDER#").Match,
		"combined":      rules.All(rules.Operations(record.Modify), rules.Not(rules.Any(rules.Entity("Type", "Order")))).Match,
		"changed":       rules.Changed(pattern("Status"), pattern("Address.**"), pattern("Address.City"), pattern("Lines[0].qty")).Match,
		"transition":    detect(rules.Transition(path("Status"), "", "completed")),
		"appeared":      detect(rules.Appeared(path("Address.Zip"))),
		"disappeared":   detect(rules.Disappeared(path("Address.City"))),
		"below":         detect(rules.CrossedBelow(path("Stock"), decimal.Of(10))),
		"member added":  detect(rules.MemberAdded(path("Tags"))),
		"path changed":  detect(rules.PathChanged(pattern("Address.City"))),
		"when, unasked": detect(rules.When(rules.NoChange(), rules.Appeared(path("Nothing")))),
	}
}

func costChange(t testing.TB) *record.Change {
	item := `{"PK":"USER#1","Type":"Order","Status":"paid","Stock":12,"Address":{"City":"Graz"},"Lines":[{"qty":1},{"qty":2}],"Tags":{"SS":["a","b"]},"expiresAt":1800000000,"N":%d}`
	return pipelinetest.PlainChange(t, fmt.Sprintf(item, 1), fmt.Sprintf(item, 2))
}

func TestRulesThatSeeNothingDoNotAllocate(t *testing.T) {
	c := costChange(t)
	for name, ask := range stages(t) {
		if seen, err := ask(c); seen || err != nil {
			t.Errorf("%s: %v, %v", name, seen, err)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = ask(c) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// An item may have tens of thousands of attributes, so no rule may look up each attribute among all others. 16 times
// the attributes may cost a bit more than 16 times the time, but not 256 times.
func TestRulesScaleWithTheItem(t *testing.T) {
	wide := func(n int, last string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"a%d":1,"m%d":{"x":1},`, i, i)
		}
		return "{" + b.String() + last + "}"
	}
	patterns := []item.Pattern{pipelinetest.MustPattern(t, "*.y"), pipelinetest.MustPattern(t, "**")}
	// best returns the shortest of several tries, since other work on the machine only adds time.
	best := func(n int) time.Duration {
		c := pipelinetest.PlainChange(t, wide(n, `"aws:rep:updatetime":1`), wide(n, `"aws:rep:updatetime":2`))
		least := time.Duration(math.MaxInt64)
		for range 7 {
			start := time.Now()
			if !pipelinetest.Matches(t, rules.ReplicationEchoes(), c) || !pipelinetest.Matches(t, rules.NoChange(), c) || pipelinetest.Matches(t, rules.Changed(patterns...), c) || len(item.Diff(c.Old, c.New)) > 0 {
				t.Fatal("wrong answer")
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	if few, many := best(250), best(4000); many > 80*few {
		t.Errorf("16 times the attributes cost %d times the time", many/few)
	}
}

func BenchmarkRules(b *testing.B) {
	c := costChange(b)
	for name, ask := range stages(b) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				if seen, err := ask(c); seen || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
