package promql

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// rule returns the alert of this name in the file of rules.
func rule(t *testing.T, name string) rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(tree + "deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if r.Alert == name {
				return r
			}
		}
	}
	t.Fatalf("there is no rule %s", name)
	return rulefmt.Rule{}
}

// fires returns the minutes, from 0 to length-1, in which the alert fires. Prometheus' own engine evaluates the alert
// each minute. The series are in the notation of Prometheus' tests, with one sample a minute.
func fires(t *testing.T, alert string, length int, series ...string) (on []int) {
	t.Helper()
	r := rule(t, alert)
	storage := promqltest.LoadedStorage(t, "load 1m\n\t"+strings.Join(series, "\n\t")+"\n")
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 100_000)
	since := -1 // minute since which the expression has been true
	for m := range length {
		q, err := engine.NewInstantQuery(t.Context(), storage, nil, r.Expr, time.Unix(0, 0).Add(time.Duration(m)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		answer := q.Exec(t.Context())
		found, err := answer.Vector()
		if err != nil {
			t.Fatalf("%s: %v", alert, err)
		}
		switch {
		case len(found) == 0:
			since = -1
		case since < 0:
			since = m
		}
		if since >= 0 && time.Duration(m-since)*time.Minute >= time.Duration(r.For) {
			on = append(on, m)
		}
		q.Close()
	}
	return on
}

// counted has the alerts for events that should never happen. Each alert has a series that it reads.
var counted = map[string]string{
	"TablewakeLostRecords":    `tablewake_reader_gaps_total{pipeline="shop", table="orders"}`,
	"TablewakeBatchesGivenUp": `tablewake_handler_messages_total{pipeline="shop", outcome="gap"}`,
	"TablewakeDeadLetters":    `tablewake_sink_letters_total{pipeline="shop", sink="view", class="write"}`,
	"TablewakeUndecodable":    `tablewake_source_records_total{pipeline="shop", outcome="undecodable"}`,
	"TablewakeSinksDiffer":    `tablewake_audit_differences_total{pipeline="shop", sink="view", verdict="missing"}`,
	"TablewakeDenied":         `tablewake_reader_calls_total{pipeline="shop", operation="GetRecords", outcome="denied"}`,
}

// The first event fires its alert, although a counter has no series before its first event, and its first sample is no
// increase.
func TestAlerts_TheFirstOfItsKindRings(t *testing.T) {
	for alert, series := range counted {
		on := fires(t, alert, 60, series+` _x10 1x50`)
		if len(on) < 10 || len(on) > 20 || on[0] != 10 {
			t.Errorf("%s: counted once at minute 10, it is on at %v", alert, on)
		}
	}
	if on := fires(t, "TablewakeLostRecords", 30, `tablewake_handler_lost_total{pipeline="shop"} _x10 3x20`); len(on) == 0 || on[0] != 10 {
		t.Errorf("records lost by a function at minute 10, and it is on at %v", on)
	}
}

func TestAlerts_TheNextOfItsKindRingsToo(t *testing.T) {
	for alert, series := range counted {
		on := fires(t, alert, 90, series+` _x10 1x39 2x40`)
		if len(on) == 0 || on[len(on)-1] < 50 {
			t.Errorf("%s: counted again at minute 50, it is on at %v", alert, on)
		}
	}
}

// An alert does not fire for old counts, or for counts of another kind.
func TestAlerts_AreQuietWhereNothingHappens(t *testing.T) {
	for alert, series := range counted {
		for _, m := range fires(t, alert, 120, series+` 4x120`) {
			if m >= 20 {
				t.Errorf("%s: nothing happened since the start, and it is on at minute %d", alert, m)
			}
		}
		if on := fires(t, alert, 60, series+` 0x60`); len(on) > 0 {
			t.Errorf("%s: nothing ever happened, and it is on at %v", alert, on)
		}
	}
	for alert, series := range map[string]string{
		"TablewakeBatchesGivenUp": `tablewake_handler_messages_total{pipeline="shop", outcome="redriven"} 0+1x60`,
		"TablewakeDeadLetters":    `tablewake_sink_letters_total{pipeline="shop", class="undecodable"} 0+1x60`,
		"TablewakeUndecodable":    `tablewake_source_records_total{pipeline="shop", outcome="routed"} 0+1x60`,
		"TablewakeDenied":         `tablewake_reader_calls_total{pipeline="shop", operation="GetRecords", outcome="ok"} 0+1x60`,
		"TablewakeFunctionFails":  `tablewake_handler_invocations_total{pipeline="shop", source="dynamodb", outcome="success"} 0+1x60`,
	} {
		if on := fires(t, alert, 60, series); len(on) > 0 {
			t.Errorf("%s is on at %v for %s", alert, on, series)
		}
	}
}

// A sink that has never finished anything is stuck, like a sink that has stopped. A sink that has just begun, or that
// writes, is not stuck.
func TestAlerts_ASinkThatFinishesNothingIsStuck(t *testing.T) {
	const pending = `tablewake_sink_pending{pipeline="shop", sink="view"} `
	const done = `tablewake_sink_deliveries_total{pipeline="shop", sink="view", outcome="written"} `
	for _, c := range []struct {
		name   string
		series []string
		first  int // first minute; -1: never
	}{
		{"down from the start", []string{pending + `5x60`}, 15},
		{"down since minute 20", []string{pending + `0x19 5x40`, done + `0+1x19 19x40`}, 34},
		{"writes", []string{pending + `5x60`, done + `0+1x60`}, -1},
		{"wrote at minute 14 for the first time, and not again", []string{pending + `5x60`, done + `_x14 7x46`}, 29},
		{"has nothing to do", []string{pending + `0x60`}, -1},
	} {
		first := -1
		if on := fires(t, "TablewakeSinkStuck", 60, c.series...); len(on) > 0 {
			first = on[0]
		}
		if first != c.first {
			t.Errorf("%s: first on at %d, want %d", c.name, first, c.first)
		}
	}
}

// If the lease table cannot be reached for minutes, the alert fires. It does not fire after a single minute.
func TestAlerts_LeaseTableOutOfReach(t *testing.T) {
	const unwritten = `tablewake_reader_unwritten_seconds{pipeline="shop"} `
	for _, c := range []struct {
		series string
		rings  bool
	}{{unwritten + `0x10 60+60x10`, true}, {unwritten + `0x10 60 0x10`, false}, {unwritten + `0x30`, false}} {
		if on := fires(t, "TablewakeLeaseTableOutOfReach", 25, c.series); (len(on) > 0) != c.rings {
			t.Errorf("%s: it is on at %v", c.series, on)
		}
	}
}

// Consumers that are gone are reported until the stream has dropped their unread records.
func TestAlerts_ConsumersThatAreGoneStayGone(t *testing.T) {
	const contact = `tablewake_reader_contact_ratio{pipeline="shop"} `
	on := fires(t, "TablewakeConsumersGone", 24*60, contact+`1x30`)
	if len(on) == 0 || on[0] > 45 || on[len(on)-1] != 24*60-1 || len(on) != 24*60-on[0] {
		t.Errorf("gone at minute 30, and it is on in %d minutes of a day", len(on))
	}
	if on := fires(t, "TablewakeConsumersGone", 120, contact+`1x120`); len(on) > 0 {
		t.Errorf("nobody is gone, and it is on at %v", on)
	}
}

// The alert fires two days after the last complete audit, whether later audits failed or did not run.
func TestAlerts_NotAudited(t *testing.T) {
	const day = 24 * 60
	for name, series := range map[string]string{
		"none after the first": `1 _x5000`,
		"others fail":          `1 _x1439 0 _x1439 0 _x1439 0 _x1439`,
	} {
		on := fires(t, "TablewakeNotAudited", 3*day, `tablewake_audit_complete_ratio{pipeline="shop"} `+series)
		if len(on) == 0 || on[0] < 2*day || on[0] > 2*day+20 {
			t.Errorf("%s: it is on from %v", name, on[:min(len(on), 1)])
		}
	}
	if on := fires(t, "TablewakeNotAudited", 3*day, `tablewake_audit_complete_ratio{pipeline="shop"} 1 _x1439 0 _x1439 1 _x1439`); len(on) > 0 {
		t.Errorf("one of two audits is complete, and it is on at %v", on[:1])
	}
}
