package sinks_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func parse(t testing.TB, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const head = "version: 1\nname: shop\nsource: {table: shop}\n"

// kept is a Go sink that records the keys and events that it receives.
type kept struct {
	mu     sync.Mutex
	keys   []item.Key
	events []string
}

func (k *kept) Write(_ context.Context, ds []pipeline.Delivery) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range ds {
		k.keys = append(k.keys, d.Change.Key)
		for _, e := range d.Events {
			k.events = append(k.events, e.Detector)
		}
	}
	return nil
}

type settings struct {
	URL string `yaml:"url"`
}

func TestAssembleNamesEverythingMissing(t *testing.T) {
	cfg := parse(t, head+`detect:
  vip: {func: isVIP}
sinks:
  crm: {custom: {name: crm}}
  erp: {custom: {name: erp, with: {ulr: x}}}
`)
	_, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(),
		sinks.With("erp", func(context.Context, settings) (pipeline.Sink, error) { return &kept{}, nil }))
	if err == nil {
		t.Fatal("assembled, want an error")
	}
	for _, want := range []string{
		`tablewake.yaml:5: detect.vip: no Go function is named "isVIP": give it to cli.Main, function.Main or Assemble with sinks.WithFunc (it has none)`,
		`tablewake.yaml:7: sinks.crm: no Go sink is named "crm": give it to cli.Main, function.Main or Assemble with sinks.With (it has discard, erp)`,
		`tablewake.yaml:8: sinks.erp: `,
		`field ulr not found`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

func TestCustomSinkMadeOfNothing(t *testing.T) {
	cfg := parse(t, head+"sinks: {crm: {custom: {name: crm}}}\n")
	boom := errors.New("no route to CRM")
	for _, tt := range []struct {
		sink pipeline.Sink
		err  error
		want string
	}{
		{nil, nil, "made no sink"},
		{nil, boom, boom.Error()},
	} {
		_, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(),
			sinks.With("crm", func(context.Context, struct{}) (pipeline.Sink, error) { return tt.sink, tt.err }))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

// The built-in Go sink discard needs no store.
func TestDiscard(t *testing.T) {
	p, err := sinks.Assemble(t.Context(), parse(t, head+"sinks: {nothing: {custom: {name: discard}}}\n"), sinks.PlanOnly())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), source(insert(t, "O1", `"Total":{"N":"5"}`)), nil); err != nil {
		t.Fatal(err)
	}
	if l := p.Ledger(); l.Source.Read != 1 || l.Sinks["nothing"].Written != 1 {
		t.Errorf("ledger %+v", l)
	}
}

// A pipeline with PlanOnly can explain changes, and a run fails.
func TestPlanOnly(t *testing.T) {
	cfg := parse(t, head+`sinks:
  orders: {view: {table: v, key: {PK: '{@key}'}}}
  index: {search: {index: i}}
  log: {archive: {}}
  each: {archive: {layout: per_item, key: '{PK}/{@version}'}}
`)
	p, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly())
	if err != nil {
		t.Fatal(err)
	}
	c := insert(t, "O1", `"Total":{"N":"5"}`)
	x := p.Explain(c)
	if len(x.Routes) != 4 {
		t.Fatalf("%d routes", len(x.Routes))
	}
	for _, r := range x.Routes {
		if !r.Taken || len(r.Ops) == 0 || r.Err != nil {
			t.Errorf("%s: taken %v, %d ops, %v", r.Name, r.Taken, len(r.Ops), r.Err)
		}
	}
	if err := p.Run(t.Context(), source(c), nil); !pipeline.IsFatal(err) {
		t.Errorf("a run over stores that hold nothing: %v, want a fatal error", err)
	}
}

// Assemble applies the filters, conditions, detectors and suppression of the file and the options to the routes.
func TestRoutes(t *testing.T) {
	cfg := parse(t, head+`filters: [{drop: {key_prefix: {PK: 'TMP'}}}]
detect: {paid: {appeared: Paid}}
sinks:
  big: {custom: {name: keep, when: 'new.Total > 10', filters: [{drop: {key_prefix: {PK: 'X'}}}]}}
  told: {notify: {events: [paid]}}
`)
	var got kept
	p, err := sinks.Assemble(t.Context(), cfg, discard{},
		sinks.With("keep", func(context.Context, struct{}) (pipeline.Sink, error) { return &got, nil }),
		sinks.SuppressEvents("replay"), sinks.WithBounds(1, 1<<20, 100))
	if err != nil {
		t.Fatal(err)
	}
	err = p.Run(t.Context(), source(
		insert(t, "O1", `"Total":{"N":"11"},"Paid":{"BOOL":true}`),
		insert(t, "O2", `"Total":{"N":"9"}`),
		insert(t, "X1", `"Total":{"N":"11"}`),
		insert(t, "TMP", `"Total":{"N":"11"}`),
		insert(t, "ROW", `"Total":{"N":"11"},"_tw":{"M":{"by":{"S":"shop"}}}`),
		insert(t, "ROW", `"Total":{"N":"11"},"_tw":{"M":{"by":{"S":"another"}}}`),
	), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := p.Ledger()
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	if f := l.Source.Filtered; f["drop_key_prefix"] != 1 || f["own_write"] != 1 {
		t.Errorf("filtered %v", f)
	}
	big, told := l.Sinks["big"], l.Sinks["told"]
	if big.Written != 2 || big.RouteFiltered["when"] != 1 || big.RouteFiltered["drop_key_prefix"] != 1 {
		t.Errorf("big %+v", big)
	}
	if told.Suppressed != 1 || told.NoEffect["no_event"] != 3 {
		t.Errorf("told %+v", told)
	}
	if len(got.keys) != 2 || got.keys[0] != "O1" || len(got.events) != 1 || got.events[0] != "paid" {
		t.Errorf("the Go sink got %v and %v", got.keys, got.events)
	}
}

// A Go function detects events only in changes that meet the condition `when` of the file.
func TestWithFunc(t *testing.T) {
	cfg := parse(t, head+`detect: {vip: {func: isVIP, when: 'op == "INSERT"'}}
sinks: {s: {custom: {name: keep}}}
`)
	var got kept
	p, err := sinks.Assemble(t.Context(), cfg, discard{},
		sinks.With("keep", func(context.Context, struct{}) (pipeline.Sink, error) { return &got, nil }),
		sinks.WithFunc("isVIP", func(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
			return append(dst, pipeline.Event{}), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), source(insert(t, "O1", `"A":{"S":"x"}`), remove(t, "O1", `"A":{"S":"x"}`)), nil); err != nil {
		t.Fatal(err)
	}
	if len(got.events) != 1 || got.events[0] != "vip" {
		t.Errorf("events %v, want one of vip", got.events)
	}
}

// With undecodable: block, a record that cannot be decoded stops the pipeline. With dead_letter, the pipeline
// continues.
func TestUndecodable(t *testing.T) {
	for _, tt := range []struct {
		word string
		stop bool
	}{{"block", true}, {"dead_letter", false}} {
		cfg := parse(t, head+"dead_letters: {dir: d, undecodable: "+tt.word+"}\nsinks: {s: {custom: {name: keep}}}\n")
		p, err := sinks.Assemble(t.Context(), cfg, discard{},
			sinks.With("keep", func(context.Context, struct{}) (pipeline.Sink, error) { return &kept{}, nil }))
		if err != nil {
			t.Fatal(err)
		}
		err = p.Run(t.Context(), source(broken(t)), nil)
		if pipeline.IsFatal(err) != tt.stop || !tt.stop && err != nil {
			t.Errorf("%s: %v", tt.word, err)
		}
		if tt.stop && !strings.Contains(err.Error(), "cannot be decoded, and dead_letters.undecodable is block") {
			t.Errorf("%s: %v", tt.word, err)
		}
	}
}

// If a store cannot be opened, Assemble fails, and the error contains the line of the sink.
func TestStoreFails(t *testing.T) {
	cfg := parse(t, head+"sinks: {orders: {view: {table: v, key: {PK: '{@key}'}}}}\n")
	_, err := sinks.Assemble(t.Context(), cfg, failing{})
	if err == nil || !strings.Contains(err.Error(), "tablewake.yaml:4: sinks.orders: no such table") || !strings.Contains(err.Error(), "tablewake.yaml:1: dead_letters: no such queue") {
		t.Errorf("error %v", err)
	}
}

// discard is a set of stores that accept events and dead letters and keep nothing.
type discard struct{ sinks.Stores }

type failing struct{ sinks.Stores }

func (failing) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return nil, errors.New("no such table")
}

func (failing) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

func (failing) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return nil, errors.New("no such queue")
}

// meters counts the meters that were requested.
type meters struct {
	noop.MeterProvider
	count int
}

func (m *meters) Meter(name string, o ...metric.MeterOption) metric.Meter {
	m.count++
	return m.MeterProvider.Meter(name, o...)
}

// A meter keeps what it observes for ever, and a long-lived consumer makes a pipeline that only plans for each sink of
// each repair.
func TestPlanOnly_HasNoMetrics(t *testing.T) {
	var provider meters
	cfg := parse(t, head+"sinks:\n  rows: {view: {table: rows, key: {PK: '{@key}'}}}\n")
	if _, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(), sinks.WithTelemetry(nil, &provider)); err != nil {
		t.Fatal(err)
	}
	if provider.count != 0 {
		t.Errorf("%d meters were requested", provider.count)
	}
}
