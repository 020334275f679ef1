package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/config"
)

func TestReaderSpecs(t *testing.T) {
	cfg, err := load(t, "testdata/good/reader.yaml")
	if err != nil {
		t.Fatal(err)
	}
	source := config.Source{
		Line: 3, Tables: []config.Table{{Name: "shop"}, {Name: "orders"}}, OnGap: config.OnGapContinue,
		Start:   config.Start{Time: time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)},
		Polling: config.Polling{MaxIdle: 250 * time.Millisecond, CallsPerMonth: 1e6},
	}
	leases := &config.Leases{Line: 4, Table: config.Table{Name: "leases", ARN: "arn:aws:dynamodb:eu-central-1:123456789012:table/leases"}, Duration: 30 * time.Second}
	if diff := cmp.Diff(source, cfg.Source) + cmp.Diff(leases, cfg.Leases); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If the file names sinks to repair, no other sink is repaired.
func TestReaderRepairs(t *testing.T) {
	cfg, err := load(t, "testdata/good/repair.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"totals"}, cfg.Source.RepairSinks); diff != "" || cfg.Source.OnGap != config.OnGapRepair {
		t.Errorf("on_gap %q (-want +got):\n%s", cfg.Source.OnGap, diff)
	}
	if diff := cmp.Diff([]string{"totals"}, cfg.SinksToRepair()); diff != "" {
		t.Errorf("what is repaired (-want +got):\n%s", diff)
	}
	cfg.Source.RepairSinks = nil
	if diff := cmp.Diff([]string{"totals", "orders"}, cfg.SinksToRepair()); diff != "" {
		t.Errorf("what is repaired by default (-want +got):\n%s", diff)
	}
	for onGap, readsOn := range map[config.OnGap]bool{"": false, config.OnGapStop: false, config.OnGapContinue: true, config.OnGapRepair: true} {
		if onGap.Continues() != readsOn {
			t.Errorf("%q reads on: %v", onGap, onGap.Continues())
		}
	}
}

// The defaults of a reader are those that most users want.
func TestReaderDefaults(t *testing.T) {
	cfg, err := load(t, "testdata/good/lease_file.yaml")
	if err != nil {
		t.Fatal(err)
	}
	source := config.Source{
		Line: 3, Tables: []config.Table{{Name: "shop"}},
		Start: config.Start{Latest: true}, OnGap: config.OnGapStop,
		Polling: config.Polling{MaxIdle: 5 * time.Second},
	}
	leases := &config.Leases{Line: 4, File: "leases.json", Duration: 6 * time.Second}
	if diff := cmp.Diff(source, cfg.Source) + cmp.Diff(leases, cfg.Leases); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if cfg, err = load(t, "testdata/good/state.yaml"); err != nil || cfg.Leases != nil || cfg.Source.Start != (config.Start{}) {
		t.Errorf("leases %+v, start %+v, %v", cfg.Leases, cfg.Source.Start, err)
	}
}
