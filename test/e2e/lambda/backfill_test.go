package lambda

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/shop"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// ofBefore has one sink for a part of the table. ofAfter has two more sinks, for the whole table. They widen the filter
// criteria.
const (
	ofBefore = `
version: 1
name: '${NAME}'
source: {table: '${NAME}-source'}
state: {table: '${STATE}'}
metrics: otlp
dead_letters: {bucket: '${BUCKET}', prefix: dead/}
filters: [{keep: {key_prefix: {PK: 'item#'}}}]
sinks:
  recent:
    view:
      table: '${VIEWS}'
      filters: [{keep: {key_prefix: {PK: 'item#00008'}}}]
      key: {PK: RECENT, SK: '{@key}'}
      attributes: {write: '{Write}'}
`
	ofAfter = ofBefore + `
  by_customer:
    view:
      table: '${VIEWS}'
      when: 'item.Status != "open"'
      key: {PK: 'OF#{Customer}', SK: '{@key}'}
      attributes: {write: '{Write}'}
  totals:
    aggregate:
      table: '${VIEWS}'
      when: 'item.Status != "open"'
      group: {PK: 'TOTAL#{Customer}', SK: total}
      values: {n: count, sum: {sum: Total}}
      on_ttl_delete: retract
`
)

// added has the sinks that only ofAfter has.
var added = []string{"by_customer", "totals"}

const (
	shopItems = 80 // items that the table has before the mapping
	lateItems = 8  // further items, whose first records come late
)

// A function gets two more sinks, which must also have the items from before. They wait, and two scans fill them, while
// the table is written and the function handles the stream. Records from before the floor that Lambda delivers late
// change nothing, although neither sink saw the later changes of their items.
func TestABackfillBesideAFunction(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Running(t))
	s := newShopSource(t, w)
	done(t, s.Fill(shopItems))
	m := newMapping(t, s)
	env := []string{"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + w.To.DynamoDB, "OTEL_METRICS_EXPORTER=console"}

	before := deploy(t, w, ofBefore, deployment{env: env})
	m.filters(t, patterns(t, w, ofBefore))
	for n := range lateItems {
		done(t, s.Put(shop.PK(shopItems+n)))
	}
	early := m.take(t)
	before.answers(t, event(early[:lateItems/2]...), succeeded)
	given := gaveUp(t, s.shard, early[lateItems/2:]...)
	for n := range lateItems {
		if done(t, s.Put(shop.PK(shopItems+n))); n%2 == 0 {
			done(t, s.Remove(shop.PK(shopItems+n), false))
		}
	}
	done(t, m.deliver(t.Context(), before.Function))
	done(t, before.Close()) // before has ended, so that the commands need not wait for 15 minutes
	f := deploy(t, w, ofAfter, deployment{env: env, without: true})
	for n := range lateItems { // Lambda drops records that the sink of ofBefore does not take
		done(t, s.Put(shop.PK(n)))
		if n%2 == 1 {
			done(t, s.Put(shop.PK(shopItems+n)))
		}
	}
	done(t, m.deliver(t.Context(), f.Function))
	for _, sink := range added {
		if lineWith(f.Log(), "it waits, and writes nothing until it is filled", "sink="+sink) == "" {
			t.Errorf("the log does not say that %s waits", sink)
		}
		if f.counted(sink, "waiting") == 0 {
			t.Errorf("the metrics count no change of %s as waiting", sink)
		}
	}
	same(t, w, s, "RECENT")

	api := newLambdaAPI(t, s.arn)
	c := commands{t, append(environment(w, w.To.DynamoDB), api.env), filepath.Join(t.TempDir(), "tablewake.yaml")}
	write(t, c.config, []byte(ofAfter))
	api.set(patterns(t, w, ofBefore), time.Now().Add(-time.Hour))
	out, err := c.fill("totals", "--function", "shop")
	if err == nil || !strings.Contains(out, "are not those of "+c.config) {
		t.Fatalf("beside the filter criteria of before: %v\n%s", err, out)
	}
	m.filters(t, patterns(t, w, ofAfter))
	api.set(patterns(t, w, ofAfter), time.Now().Add(-16*time.Minute))
	end := m.goOn(t, f, event(early...))
	var fills sync.WaitGroup
	fills.Go(func() { c.fills("totals", "--function", "shop") })
	fills.Go(func() {
		c.fills("by_customer", "--deployed-since", time.Now().Add(-16*time.Minute).UTC().Format(time.RFC3339))
	})
	fills.Wait()
	if end(); t.Failed() {
		t.FailNow()
	}
	done(t, m.deliver(t.Context(), f.Function))
	same(t, w, s, "RECENT", "OF", "TOTAL")
	if out, err := c.run("plan", "--sample", "0"); err != nil {
		t.Errorf("plan: %v\n%s", err, out)
	}
	f.leavesOut(t, "the event again", func() { f.answers(t, event(early...), succeeded) })
	f.leavesOut(t, "what was given up", func() {
		for _, d := range given {
			f.answers(t, queued(t, d.Message), succeeded)
		}
	})
	same(t, w, s, "RECENT", "OF", "TOTAL")
}

// goOn writes to the table, hands the stream to the function, and invokes the function with the event again, until end
// is called.
func (m *mapping) goOn(t *testing.T, f *function, again []byte) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var both sync.WaitGroup
	both.Go(func() {
		if n, err := m.Write(ctx, shopItems, 10, 10_000); err != nil || n == 0 {
			t.Errorf("%d writes: %v", n, err)
		}
	})
	both.Go(func() {
		for ctx.Err() == nil {
			if err := m.deliver(t.Context(), f.Function); err != nil {
				t.Errorf("delivering the stream: %v", err)
				return
			}
			if answer, err := f.Invoke(t.Context(), again); err != nil || string(answer) != succeeded {
				t.Errorf("delivering an event again: %s, %v", answer, err)
				return
			}
		}
	})
	end = func() {
		cancel()
		both.Wait()
	}
	t.Cleanup(end)
	return end
}

// leavesOut delivers records from before the floor. Each of the added sinks must count some of them as such.
func (f *function) leavesOut(t *testing.T, what string, deliver func()) {
	t.Helper()
	had := make(map[string]float64)
	for _, sink := range added {
		had[sink] = f.counted(sink, "before_floor")
	}
	deliver()
	for _, sink := range added {
		if f.counted(sink, "before_floor") <= had[sink] {
			t.Errorf("%s: %s counts no change of before the floor", what, sink)
		}
	}
}

// exported is a document of the console exporter with its counts.
type exported struct {
	ScopeMetrics []struct {
		Metrics []struct {
			Name string
			Data struct{ DataPoints []point }
		}
	}
}

// point is a value with its attributes.
type point struct {
	Attributes []struct {
		Key   string
		Value struct{ Value any }
	}
	Value any
}

// is reports whether the attribute has this value.
func (p point) is(key, value string) bool {
	for _, a := range p.Attributes {
		if a.Key == key {
			return a.Value.Value == value
		}
	}
	return false
}

// counted returns how many changes had no effect at a sink for a reason. It reads the metrics that the function wrote
// last.
func (f *function) counted(sink, reason string) (n float64) {
	for line := range strings.Lines(f.Log()) {
		var doc exported
		if !strings.HasPrefix(line, `{"Resource":`) || json.Unmarshal([]byte(line), &doc) != nil {
			continue
		}
		for _, scope := range doc.ScopeMetrics {
			for _, m := range scope.Metrics {
				for _, p := range m.Data.DataPoints {
					v, ok := p.Value.(float64)
					if ok && m.Name == "tablewake.sink.deliveries" && p.is("sink", sink) && p.is("reason", reason) {
						n = v // the counts rise, so the last one is right
					}
				}
			}
		}
	}
	return n
}

// lineWith returns the first line of a log that has all of these words, or "" if there is none.
func lineWith(log string, words ...string) string {
	for line := range strings.Lines(log) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return line
		}
	}
	return ""
}

// commands runs tablewake with one configuration on the servers.
type commands struct {
	t      *testing.T
	env    []string
	config string
}

func (c commands) run(name string, args ...string) (string, error) {
	return output(c.t, c.env, append([]string{name, "-c", c.config, "--live"}, args...)...)
}

// fill runs a backfill by a scan, with times that suit a test.
func (c commands) fill(sink string, proof ...string) (string, error) {
	args := []string{"--sink", sink, "--scan", "--floor-delay", "15s", "--clock-skew", "1s", "--lag", "3s"}
	return c.run("backfill", append(args, proof...)...)
}

// fills runs a backfill to its end. Its sink must be live then.
func (c commands) fills(sink string, proof ...string) {
	if out, err := c.fill(sink, proof...); err != nil || !strings.Contains(out, sink+": live") {
		c.t.Errorf("filling %s: %v\n%s", sink, err, out)
	}
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
