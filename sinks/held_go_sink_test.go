package sinks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

const withCode = head + `
entities:
  Order: {key: {PK: 'ORDER#{OrderId}'}}
detect: {vip: {func: isVIP}}
sinks:
  customers: {custom: {name: crm}}
  nothing: {custom: {name: discard}}
`

// ownCode is the Go code of a program and counts its calls.
type ownCode struct {
	kept
	made, called int
}

func (o *ownCode) extensions() []sinks.Extension {
	return []sinks.Extension{
		sinks.With("crm", func(context.Context, struct{}) (pipeline.Sink, error) { o.made++; return &o.kept, nil }),
		sinks.WithFunc("isVIP", func(dst []pipeline.Event, _ *record.Change) ([]pipeline.Event, error) {
			return append(dst, pipeline.Event{}), nil
		}),
		sinks.On("Order", func(context.Context, sinks.TypedChange[typedOrder]) error { o.called++; return nil }),
	}
}

// Go sinks that HoldCustom holds back are neither created nor called. Their changes count as suppressed.
func TestHoldCustom(t *testing.T) {
	for _, tt := range []struct {
		names                             []string
		made, written, called, suppressed int
	}{
		{nil, 0, 0, 0, 2},
		{[]string{"customers"}, 1, 1, 0, 1},
		{[]string{"on_Order"}, 0, 0, 1, 1},
		{[]string{"on_Order", "customers"}, 1, 1, 1, 0},
	} {
		var own ownCode
		cfg := parse(t, withCode)
		p, err := sinks.Assemble(t.Context(), cfg, discard{}, sinks.WithExtensions(own.extensions()...), sinks.HoldCustom("replay", tt.names...))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), source(insert(t, "ORDER#1", `"Total":{"N":"1"}`)), nil); err != nil {
			t.Fatal(err)
		}
		l := p.Ledger()
		suppressed := l.Sinks["customers"].Suppressed + l.Sinks["on_Order"].Suppressed
		if own.made != tt.made || len(own.keys) != tt.written || own.called != tt.called || suppressed != int64(tt.suppressed) || l.Events["vip"] != 1 || l.Sinks["nothing"].Written != 1 {
			t.Errorf("%v: made %d, written %v, called %d, ledger %+v", tt.names, own.made, own.keys, own.called, l)
		}
		if got := sinks.CustomSinks(cfg, own.extensions()...); !slices.Equal(got, []string{"customers", "on_Order"}) {
			t.Errorf("Go sinks are %v", got)
		}
	}
}

// Explain also describes Go sinks that are held back.
func TestHoldCustom_Explains(t *testing.T) {
	var own ownCode
	p, err := sinks.Assemble(t.Context(), parse(t, withCode), sinks.PlanOnly(), sinks.WithExtensions(own.extensions()...), sinks.HoldCustom("explain"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := source(insert(t, "ORDER#1", `"Total":{"N":"1"}`)).Read(t.Context())
	if page == nil {
		t.Fatal(err)
	}
	x := p.Explain(&page.Changes[0])
	if got := fmt.Sprint(x.Routes[0].Ops, x.Routes[2].Ops, x.Routes[0].Outcome); got != "[give the change to the Go sink crm] [call the function of Order] suppressed" {
		t.Errorf("it explains %s", got)
	}
}

// A program without Go code can run a file that names Go code, if all this code is held back or suppressed.
func TestHoldCustom_WithoutTheCode(t *testing.T) {
	cfg := parse(t, withCode)
	if got := fmt.Sprint(sinks.Missing(cfg)); got != "[the Go sink crm the Go function isVIP]" {
		t.Errorf("missing is %s", got)
	}
	var own ownCode
	if got := sinks.Missing(cfg, own.extensions()...); len(got) > 0 {
		t.Errorf("missing is %v", got)
	}
	p, err := sinks.Assemble(t.Context(), cfg, discard{}, sinks.HoldCustom("replay"), sinks.SuppressEvents("replay"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), source(insert(t, "ORDER#1", `"Total":{"N":"1"}`)), nil); err != nil {
		t.Fatal(err)
	}
	if l := p.Ledger(); l.Events["vip"] != 0 || l.Sinks["customers"].Suppressed != 1 {
		t.Errorf("ledger %+v", l)
	}
	other := sinks.WithFunc("other", func(dst []pipeline.Event, _ *record.Change) ([]pipeline.Event, error) { return dst, nil })
	for want, options := range map[string][]sinks.Option{
		`no Go sink is named "crm"`:           {sinks.HoldCustom("replay", "customers"), sinks.SuppressEvents("replay")},
		`no Go function is named "isVIP"`:     {sinks.HoldCustom("replay")},
		`no Go sink is named "crm": `:         {sinks.HoldCustom("replay"), sinks.SuppressEvents("replay"), other},
		`no Go sink is named "nothing": name`: {sinks.HoldCustom("replay", "nothing"), sinks.SuppressEvents("replay")},
		`no Go sink is named "on_Order": nam`: {sinks.HoldCustom("replay", "on_Order"), sinks.SuppressEvents("replay")},
	} {
		if _, err := sinks.Assemble(t.Context(), cfg, discard{}, options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
