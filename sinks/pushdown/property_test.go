package pushdown_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/pushdown"
	"github.com/tablewake/tablewake/test/eventruler"
)

func noEnv(string) (string, bool) { return "", false }

func engine(t *testing.T) *eventruler.Engine {
	t.Helper()
	e, err := eventruler.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// needed reports whether a pipeline would do anything with a change, and told whether a sink receives it at all:
// filters do not know what a notify sink makes of a change.
func needed(x pipeline.Explanation) (needed, told bool) {
	for _, r := range x.Routes {
		needed = needed || r.Taken && (r.Err != nil || r.Outcome != pipeline.NoEffect)
		told = told || r.Taken && (r.Err != nil || r.Outcome != pipeline.NoEffect || r.Reason == "no_event" || r.Reason == "ttl_delete")
	}
	return needed, told
}

// Whatever a configuration and a record hold, no stage would have used a record that Amazon's event-ruler drops. Where
// the plan says that a part is pushed down whole, what passes is what the function keeps.
func TestWhatIsFilteredAwayIsNeededByNobody(t *testing.T) {
	e := engine(t)
	filtered, passed, whole := 0, 0, 0
	property := func(t *rapid.T) {
		file := configuration(t)
		cfg, err := config.Parse("tablewake.yaml", []byte(file), noEnv)
		if err != nil {
			if strings.Contains(err.Error(), "too long") || strings.Contains(err.Error(), "TTL deletes") || strings.Contains(err.Error(), "retract") {
				t.Skip("refused")
			}
			t.Fatalf("%v\n%s", err, file)
		}
		plan, err := pushdown.New(cfg, pushdown.Options{MatchUserIdentity: rapid.Bool().Draw(t, "identity"), Limit: pick(t, "limit", 1, 3, 4, 5, 7, 10, 10, 10)})
		if err != nil {
			t.Fatal(err)
		}
		ruler, err := e.Ruler(plan.Patterns)
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		defer ruler.Close()
		p, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly())
		if err != nil {
			t.Fatal(err)
		}
		exact := !strings.Contains(file, "{a|lower}") && !strings.Contains(file, "for_each") // a filter does not know which items have none of it
		for _, part := range plan.Parts {
			exact = exact && part.Pushed == pushdown.Whole
		}
		if exact {
			whole++
		}
		decoder := record.NewDecoder(record.DecoderOptions{})
		for range rapid.IntRange(1, 20).Draw(t, "records") {
			r := drawRecord(t)
			line := r.JSON()
			passes, err := ruler.Match(line)
			if err != nil {
				t.Fatal(err)
			}
			page, err := decoder.Decode(line)
			if err != nil || len(page.Changes) != 1 {
				t.Fatalf("%v %v: %s", err, page.Errors, line)
			}
			x := p.Explain(&page.Changes[0])
			is, told := needed(x)
			if is && !passes {
				t.Fatalf("Lambda would drop what is needed\nconfiguration:\n%s\npatterns:\n%s\nrecord:\n%s\n%+v", file, strings.Join(plan.Patterns, "\n"), line, x.Routes)
			}
			if exact && passes && !told && r.EventName != "EVOLVE" {
				t.Fatalf("the plan says that all is pushed down whole, and Lambda passes what the function drops\nconfiguration:\n%s\npatterns:\n%s\nrecord:\n%s\n%+v", file, strings.Join(plan.Patterns, "\n"), line, x.Routes)
			}
			if passes {
				passed++
			} else {
				filtered++
			}
		}
	}
	for range 10 { // a round of few checks may see only one of them
		if rapid.Check(t, property); filtered > 0 && passed > 0 && whole > 0 {
			break
		}
	}
	if filtered == 0 || passed == 0 || whole == 0 {
		t.Errorf("%d records were filtered away, %d passed, %d plans were whole: the test has seen nothing", filtered, passed, whole)
	}
}
