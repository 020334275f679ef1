package model_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/search"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/test/model"
)

// Images that cannot be planned leave nothing of the former state of the item. After the settings are corrected and
// every dead letter is redriven, the stores hold the result of the corrected configuration for all records. The
// reference names one exception: an item that is kept and expired after such an image.
func TestMended(t *testing.T) {
	check(t, func(t *rapid.T, p product, s model.Stream) {
		fixed := p.cfg.Retracting()
		records := model.Spoilt(t, s.Records)
		p.cfg = fixed.Flawed()
		p.run(records, rapid.IntRange(1, 20).Draw(t, "page"), rapid.IntRange(1, 3).Draw(t, "partitions"))
		p.want("a pass with spoilt images", records)

		var letters []sinktest.Record
		failed := p.look().Letters
		for _, r := range records {
			if slices.ContainsFunc(fixed.Sinks, func(s model.Sink) bool { _, ok := failed[model.LetterOf(s.Name, r)]; return ok }) {
				letters = append(letters, r)
			}
		}
		p.cfg, p.forget = fixed, true
		p.run(letters, rapid.IntRange(1, 20).Draw(t, "page of letters"), 1)
		p.wantStores("the settings were fixed and the letters redriven", records)
	})
}

// forgetful opens the stores of a folder as if their content was written under the current settings.
type forgetful struct{ *local.Stores }

var _ sinks.Stores = forgetful{}

func (f forgetful) View(ctx context.Context, cfg *config.Config, s config.Sink) (view.Store, error) {
	store, err := f.Stores.View(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	return mendedView{store.(*sqlite.Store), s.Settings}, nil
}

func (f forgetful) Aggregate(ctx context.Context, cfg *config.Config, s config.Sink) (view.GroupStore, error) {
	store, err := f.Stores.Aggregate(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	return mendedView{store.(*sqlite.Store), s.Settings}, nil
}

func (f forgetful) Search(ctx context.Context, cfg *config.Config, s config.Sink) (search.Store, error) {
	store, err := f.Stores.Search(ctx, cfg, s)
	if err != nil {
		return nil, err
	}
	return mendedIndex{store.(*searchsqlite.Store), s.Settings}, nil
}

type mendedView struct {
	*sqlite.Store
	settings map[string]string
}

func (v mendedView) Fingerprint(ctx context.Context, pipeline, sink string) (state.Fingerprint, bool, error) {
	f, found, err := v.Store.Fingerprint(ctx, pipeline, sink)
	f.Settings = v.settings
	return f, found, err
}

type mendedIndex struct {
	*searchsqlite.Store
	settings map[string]string
}

func (x mendedIndex) Fingerprint(ctx context.Context, pipeline, sink string) (state.Fingerprint, bool, error) {
	f, found, err := x.Store.Fingerprint(ctx, pipeline, sink)
	f.Settings = x.settings
	return f, found, err
}
