package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

// BackfillProgress is the progress of a backfill. A part is a file or a segment of the backfill's source.
type BackfillProgress struct {
	state.Backfill
	Done  int   // parts that are written
	Items int64 // items that are written
}

// ReadFills returns the progress of the backfills that fill the outputs of births, by run. The progress of a run is
// zero if its backfill is not stored. The map is nil if no output is being filled.
func ReadFills(ctx context.Context, store state.Backfills, births []state.Birth) (map[string]BackfillProgress, error) {
	fills := make(map[string]BackfillProgress)
	for _, b := range births {
		if b.Stage != state.Live && b.Run != "" {
			fills[b.Run] = BackfillProgress{} // it stays zero if the backfill is not stored
		}
	}
	if len(fills) == 0 {
		return nil, nil
	}
	for b, err := range store.Backfills(ctx) {
		if err != nil {
			return nil, err
		}
		if _, isWanted := fills[b.Run]; isWanted && slices.ContainsFunc(births, b.Fills) {
			fills[b.Run] = BackfillProgress{Backfill: b}
		}
	}
	for run, f := range fills {
		var err error
		if f.Done, f.Items, err = countWritten(ctx, store, run); err != nil {
			return nil, err
		}
		fills[run] = f
	}
	return fills, nil
}

// countWritten counts the written parts and items of a run.
func countWritten(ctx context.Context, backfills state.Backfills, run string) (parts int, items int64, err error) {
	for p, err := range backfills.Parts(ctx, run) {
		if err != nil {
			return 0, 0, err
		}
		items += p.Items
		if p.Done {
			parts++
		}
	}
	return parts, items, nil
}

// setProgress sets the progress of a sink's backfill. The progress stays unknown if the backfill is not stored.
func (s *PendingSink) setProgress(obs *Observation) {
	f, known := obs.Fills[s.Run]
	if !known || f.Start.IsZero() {
		return
	}
	s.Started = &f.Start
	if f.Parts == 0 { // an archive has no parts, so its progress is not stored
		return
	}
	s.Parts, s.PartsDone, s.Items = f.Parts, &f.Done, &f.Items
	elapsed := obs.At.Sub(f.Start)
	hasRate := elapsed > 0 && s.Stage == state.Filling.String()
	if !hasRate {
		return
	}
	s.Rate = new(float64(f.Items) / elapsed.Seconds())
	if f.Done > 0 && f.Done <= f.Parts {
		perPart := elapsed / time.Duration(f.Done)
		s.Left = new((perPart * time.Duration(f.Parts-f.Done)).Seconds())
	}
}
