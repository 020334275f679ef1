package backfill

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

const manySinks = `version: 1
name: shop
source: {table: shop}
state: {table: state}
detect: {paid: {appeared: Paid}}
sinks:
  a: {view: {table: rows, key: {PK: 'A#{@key}'}}}
  b: {view: {table: rows, key: {PK: 'B#{@key}'}}}
  log: {archive: {bucket: log, prefix: changes/}}
  each: {archive: {bucket: each, layout: per_item, key: '{@key|esc}/{@version}.json'}}
  told: {notify: {queue: paid, events: [paid]}}
  crm: {custom: {name: crm}}
`

// parsed returns the configuration manySinks, and the births of its outputs at their first start.
func parsed(t *testing.T) (*config.Config, []state.Birth) {
	t.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(manySinks), nil)
	if err != nil {
		t.Fatal(err)
	}
	var births []state.Birth
	for _, s := range cfg.Sinks {
		if s.Custom == nil {
			births = append(births, state.NewBirth(s.Name, sinks.Target(s), time.Now()))
		}
	}
	return cfg, births
}

// An archive or a Go sink is selected only if it is named, or if a stored run fills it already.
func TestSelectSinks_Archives(t *testing.T) {
	for name, c := range map[string]struct {
		names  []string
		change func(*state.Birth)
		stored []state.Backfill
		want   string // "": an error
	}{
		"by default": {want: "a, b"},
		"those that wait": {want: "b", change: func(b *state.Birth) {
			if b.Sink == "b" {
				b.Stage = state.Waiting
			}
		}},
		"by name":          {names: []string{"log"}, want: "log"},
		"both, and a view": {names: []string{"log", "a", "each"}, want: "a, each, log"},
		"that was interrupted": {
			want: "a, log",
			change: func(b *state.Birth) {
				if b.Sink == "a" || b.Sink == "log" {
					b.Stage, b.Run = state.Filling, "r"
				}
			},
			stored: []state.Backfill{{Run: "r", Sinks: "a,log"}},
		},
		"that ended": {names: []string{"log"}, change: func(b *state.Birth) {
			if b.Sink == "log" {
				b.Run = "r"
			}
		}},
		"a Go sink": {names: []string{"crm"}, want: "crm"},
		"a Go sink that has the items": {names: []string{"crm"}, want: "crm", change: func(b *state.Birth) {
			b.Run = "r"
		}},
		"after an archive was filled": {want: "a, b", change: func(b *state.Birth) {
			if b.Sink == "log" {
				b.Run = "r"
			}
		}},
	} {
		cfg, births := parsed(t)
		for i := range births {
			if c.change != nil {
				c.change(&births[i])
			}
		}
		if slices.Contains(c.names, "crm") { // the command records the birth of a Go sink
			births = append(births, state.NewBirth("crm", "Go sink crm", time.Now()))
			if c.change != nil {
				c.change(&births[len(births)-1])
			}
		}
		sel, err := selectSinks(cfg.Sinks, births, c.stored, c.names)
		switch {
		case err != nil && c.want == "":
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case sel.String() != c.want:
			t.Errorf("%s: %s is selected, want %q", name, sel, c.want)
		case sel.missesChanges() != (sel.hasWaiting() || strings.Contains(c.want, "log") || c.want == "crm"):
			t.Errorf("%s: missesChanges is %t", name, sel.missesChanges())
		case sel.keepsState() != (c.want != "log" && c.want != "crm"):
			t.Errorf("%s: keepsState is %t", name, sel.keepsState())
		}
	}
}

// A name that cannot be filled is refused before anything is opened.
func TestCheckNames(t *testing.T) {
	cfg, _ := parsed(t)
	for name, want := range map[string]string{
		"told": "--sink told: a snapshot raises no events",
		"crm":  "--sink crm: this program does not have the Go sink crm: run the command in the program that has it",
		"nix":  `--sink "nix": tablewake.yaml has no such sink`,
		"logs": `--sink "logs": tablewake.yaml has no such sink; did you mean log?`,
	} {
		if err := checkNames(cfg, nil, []string{"log", name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := checkNames(cfg, nil, []string{"a", "log", "each"}); err != nil {
		t.Error(err)
	}
	newCRM := func(context.Context, struct{}) (pipeline.Sink, error) { return nil, nil }
	exts := []sinks.Extension{sinks.With("crm", newCRM), sinks.On[struct{}]("Order", nil)}
	if err := checkNames(cfg, exts[1:], []string{"crm"}); err == nil {
		t.Error("a program without the Go sink fills it")
	}
	if err := checkNames(cfg, exts, []string{"crm", "on_Order"}); err != nil {
		t.Error(err)
	}
}

// An archive is not filled from itself, from a part of itself, or from an archive that contains it.
func TestCheckCopies(t *testing.T) {
	cfg, _ := parsed(t)
	at := slices.IndexFunc(cfg.Sinks, func(s config.Sink) bool { return s.Name == "log" })
	for path, refused := range map[string]bool{
		"s3://log/changes/":      true,
		"s3://log/changes":       true,
		"s3://log":               true,
		"s3://log/changes/dt=1/": true,
		"s3://log/other/":        false,
		"s3://logs/changes/":     false,
		"out/archive/log":        true,
		"./out/archive":          true,
		"out/archive/other":      false,
		"stream.jsonl":           false,
	} {
		o := options{}
		o.Live, o.Local, o.archive = strings.HasPrefix(path, "s3:"), "out", []string{path}
		j := &job{o: &o, cfg: cfg, selection: &selection{neverWait: cfg.Sinks[at : at+1]}}
		if err := j.checkArchives(); (err != nil) != refused {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// An archive has no floor. So a source from before the start of the archive is no error, and the command warns of what
// may be missing.
func TestWarnOfArchives(t *testing.T) {
	cfg, births := parsed(t)
	sel, err := selectSinks(cfg.Sinks, births, nil, []string{"log", "a"})
	if err != nil {
		t.Fatal(err)
	}
	for shown, want := range map[time.Duration]int{-time.Hour: 1, time.Hour: 0} {
		var said bytes.Buffer
		o := options{}
		o.Live = true
		j := &job{o: &o, streams: cli.Streams{Err: &said}, cfg: cfg, selection: sel}
		j.warnOfArchives(births[0].Made.Add(shown))
		if n := strings.Count(said.String(), "warning: the archive log begins at "); n != want {
			t.Errorf("%s after the begin it says %q", shown, said.String())
		}
	}
}
