package model_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/pushdown"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/test/eventruler"
	"github.com/tablewake/tablewake/test/model"
)

// A sink can get only the records that Lambda would deliver by the patterns of a configuration. Amazon's event-ruler
// evaluates these patterns. The result is the same views, aggregates, indexes, archives, events and dead letters as
// with the whole stream.
func TestPushedDownAndRemainingAreTheWhole(t *testing.T) {
	t.Parallel()
	engine, err := eventruler.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	filtered := 0
	property := func(t *rapid.T, p product, s model.Stream) {
		cfg, err := config.Parse("tablewake.yaml", []byte(p.cfg.YAML()), func(string) (string, bool) { return "", false })
		p.must(err)
		plan, err := pushdown.New(cfg, pushdown.Options{MatchUserIdentity: rapid.Bool().Draw(t, "identity")})
		p.must(err)
		ruler, err := engine.Ruler(plan.Patterns)
		p.must(err)
		var passed []sinktest.Record
		for _, r := range s.Records {
			ok, err := ruler.Match(r.JSON())
			p.must(err)
			if ok {
				passed = append(passed, r)
			}
		}
		p.must(ruler.Close())
		filtered += len(s.Records) - len(passed)
		p.run(passed, 5, 2)
		p.want("what Lambda would hand on", s.Records)
	}
	for range 10 { // a round of few checks may draw no configuration that filters a record
		if checkRound(t, property); filtered > 0 {
			break
		}
	}
	if filtered == 0 {
		t.Error("nothing was filtered away: the test has seen nothing")
	}
}
