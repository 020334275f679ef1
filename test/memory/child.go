package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
)

// runChild runs n records through the fixture's pipeline. It checks that both ledgers balance and that nothing was
// lost.
func runChild(ctx context.Context, stores, fixture, export string, n int) error {
	file := filepath.Join(fixture, "tablewake.yaml")
	src, err := newMultiplied(filepath.Join(fixture, "stream.jsonl"), n)
	if err != nil {
		return err
	}
	var l pipeline.Ledger
	switch stores {
	case "embedded":
		l, err = runEmbedded(ctx, file, src)
	case "backfill": // reads the export
		l, err = runBackfill(ctx, file, export)
	default:
		l, err = runCounting(ctx, file, src, nil)
	}
	if err != nil {
		return err
	}
	if err := l.Check(); err != nil {
		return err
	}
	if l.Source.Read != int64(n) {
		return fmt.Errorf("%d of %d records were read", l.Source.Read, n)
	}
	for name, s := range l.Sinks {
		if s.Pending+s.DeadLettered > 0 {
			return fmt.Errorf("sink %s: %d pending, %d dead letters", name, s.Pending, s.DeadLettered)
		}
	}
	return nil
}

// runEmbedded writes into embedded stores in a folder, and removes the folder.
func runEmbedded(ctx context.Context, file string, src pipeline.Source) (pipeline.Ledger, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return pipeline.Ledger{}, err
	}
	dir, err := os.MkdirTemp("", "tablewake-memory-")
	if err != nil {
		return pipeline.Ledger{}, err
	}
	defer os.RemoveAll(dir)
	st, err := local.Open(dir)
	if err != nil {
		return pipeline.Ledger{}, err
	}
	p, err := sinks.Assemble(ctx, cfg, st, sinks.Finite(), sinks.SuppressEvents("replay"))
	if err != nil {
		return pipeline.Ledger{}, err
	}
	if err := p.Run(ctx, src, nil); err != nil {
		return pipeline.Ledger{}, err
	}
	return p.Ledger(), st.Close()
}

// runCounting runs a counting sink in place of each sink of the file.
func runCounting(ctx context.Context, file string, src pipeline.Source, c pipeline.Committer) (pipeline.Ledger, error) {
	cfg, err := config.Load(file)
	if err != nil {
		return pipeline.Ledger{}, err
	}
	o := pipeline.Options{Name: cfg.Name}
	for _, d := range cfg.Detectors {
		o.Detectors = append(o.Detectors, pipeline.NamedDetector{Name: d.Name, Detector: d.Detector})
	}
	var written atomic.Int64
	for _, s := range cfg.Sinks {
		o.Routes = append(o.Routes, pipeline.Route{Name: s.Name, Sink: pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
			written.Add(int64(len(ds)))
			return nil
		})})
	}
	p, err := pipeline.New(o)
	if err != nil {
		return pipeline.Ledger{}, err
	}
	if err := p.Run(ctx, src, c); err != nil {
		return pipeline.Ledger{}, err
	}
	l := p.Ledger()
	if want := l.Source.Read * int64(len(cfg.Sinks)); written.Load() != want {
		return l, fmt.Errorf("the stores counted %d deliveries of %d", written.Load(), want)
	}
	return l, nil
}
