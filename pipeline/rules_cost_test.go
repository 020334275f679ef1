package pipeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// stages are rules of every sort that see nothing in costChange.
func stages(t testing.TB) map[string]func(*pipeline.Change) (bool, error) {
	path := func(s string) pipeline.Path { return mustPath(t, s) }
	pattern := func(s string) pipeline.Pattern { return mustPattern(t, s) }
	dst := make([]pipeline.Event, 0, 4)
	detect := func(d pipeline.Detector) func(*pipeline.Change) (bool, error) {
		return func(c *pipeline.Change) (bool, error) {
			events, err := d.Detect(dst, c)
			return len(events) > 0, err
		}
	}
	return map[string]func(*pipeline.Change) (bool, error){
		"ttl deletes":   pipeline.TTLDeletes().Match,
		"probable ttl":  pipeline.ProbableTTL("expiresAt").Match,
		"echoes":        pipeline.ReplicationEchoes().Match,
		"no change":     pipeline.NoChange().Match,
		"entity":        pipeline.Entity("Type", "User").Match,
		"key prefix":    pipeline.KeyPrefix("PK", "ORDER#").Match,
		"combined":      pipeline.All(pipeline.Operations(pipeline.Modify), pipeline.Not(pipeline.Any(pipeline.Entity("Type", "Order")))).Match,
		"changed":       pipeline.Changed(pattern("Status"), pattern("Address.**"), pattern("Address.City"), pattern("Lines[0].qty")).Match,
		"transition":    detect(pipeline.Transition(path("Status"), "", "completed")),
		"appeared":      detect(pipeline.Appeared(path("Address.Zip"))),
		"disappeared":   detect(pipeline.Disappeared(path("Address.City"))),
		"below":         detect(pipeline.CrossedBelow(path("Stock"), pipeline.DecimalOf(10))),
		"member added":  detect(pipeline.MemberAdded(path("Tags"))),
		"path changed":  detect(pipeline.PathChanged(pattern("Address.City"))),
		"when, unasked": detect(pipeline.When(pipeline.NoChange(), pipeline.Appeared(path("Nothing")))),
	}
}

func costChange(t testing.TB) *pipeline.Change {
	item := `{"PK":"USER#1","Type":"Order","Status":"paid","Stock":12,"Address":{"City":"Graz"},"Lines":[{"qty":1},{"qty":2}],"Tags":{"SS":["a","b"]},"expiresAt":1800000000,"N":%d}`
	return plainChange(t, fmt.Sprintf(item, 1), fmt.Sprintf(item, 2))
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

// An item may have tens of thousands of attributes: no rule may look each of them
// up among all others. 16 times the attributes may cost some more than 16 times
// the time, but not 256 times.
func TestRulesScaleWithTheItem(t *testing.T) {
	wide := func(n int, last string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"a%d":1,"m%d":{"x":1},`, i, i)
		}
		return "{" + b.String() + last + "}"
	}
	patterns := []pipeline.Pattern{mustPattern(t, "*.y"), mustPattern(t, "**")}
	best := func(n int) time.Duration { // of several tries: other work on the machine only ever adds
		c := plainChange(t, wide(n, `"aws:rep:updatetime":1`), wide(n, `"aws:rep:updatetime":2`))
		least := time.Duration(math.MaxInt64)
		for range 7 {
			start := time.Now()
			if !matches(t, pipeline.ReplicationEchoes(), c) || !matches(t, pipeline.NoChange(), c) || matches(t, pipeline.Changed(patterns...), c) || len(pipeline.Diff(c.Old, c.New)) > 0 {
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
