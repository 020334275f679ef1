package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.Inspector = (*Reader)(nil)

// Stands reads what is at the keys of rows, a hundred in one request. An item that
// no sink made stands there without a View. Tombstones apart are in the state table, and
// a Reader doesn't see them: see [Store.Stands].
func (r *Reader) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	refs := make([]dynamo.Ref, len(rows))
	for i, row := range rows {
		var err error
		if refs[i], err = refOf(t.Table, row); err != nil {
			return nil, err
		}
	}
	items, err := r.views.Get(ctx, refs)
	if errors.Is(err, dynamo.ErrNoTable) {
		return nil, fmt.Errorf("dynamodb: %w: %q", view.ErrNoTable, t.Name)
	}
	if err != nil {
		return nil, err
	}
	ss := make([]view.StoredRow, len(rows))
	for i, item := range items {
		if item == nil {
			continue
		}
		if ss[i], err = standing(maps.Clone(item)); err != nil {
			return nil, fmt.Errorf("dynamodb: a row of table %s: %w", t.Name, err)
		}
	}
	return ss, nil
}

var _ view.Inspector = (*Store)(nil)

// Stands is [Reader.Stands], with the tombstones that are apart.
func (s *Store) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	ss, err := s.Reader.StoredRows(ctx, t, rows)
	if err != nil || t.InPlace {
		return ss, err
	}
	var missing []int
	var of []state.Row
	for i := range ss {
		if !ss[i].Exists {
			missing, of = append(missing, i), append(of, rows[i])
		}
	}
	if len(of) == 0 {
		return ss, nil
	}
	tombstones, err := s.Tombstones(ctx, t.State(), of)
	if err != nil {
		return nil, err
	}
	for n, i := range missing {
		tombstone := tombstones[n]
		if tombstone == nil {
			continue
		}
		ss[i] = view.StoredRow{
			Exists: true, Tombstone: true, Source: tombstone.Source, View: t.View, Pipeline: t.Pipeline, Expires: tombstone.Expires,
		}
		if ss[i].Version, err = record.ParseVersion(tombstone.Version); err != nil {
			return nil, s.Damaged("a tombstone of the view "+t.View, err)
		}
	}
	return ss, nil
}

// refOf is where a row is.
func refOf(t view.Table, row state.Row) (dynamo.Ref, error) {
	pk, sk, err := row.Decode()
	if err == nil && sk.Exists() != (t.SK != "") {
		err = errs.New("another number of attributes")
	}
	if err != nil {
		return dynamo.Ref{}, fmt.Errorf("dynamodb: a row is no key of table %s: %w", t.Name, err)
	}
	key := keyOf(t, pk, sk)
	if err := checkKey(t, key); err != nil {
		return dynamo.Ref{}, err
	}
	return dynamo.Ref{Table: t.Name, Key: key}, nil
}

func keyOf(t view.Table, pk, sk item.Value) dynamo.Item {
	key := dynamo.Item{t.PK: sdkvalue.Of(pk)}
	if t.SK != "" {
		key[t.SK] = sdkvalue.Of(sk)
	}
	return key
}

// standing is what an item says of itself.
func standing(image dynamo.Item) (view.StoredRow, error) {
	s := view.StoredRow{Exists: true}
	if m, ok := markOf(image); ok {
		var err error
		if s.Version, err = record.ParseVersion(m.version); err != nil {
			return s, errs.New("its _tw holds no version")
		}
		s.Source, s.View, s.Pipeline = item.Key(m.source), m.view, m.pipeline
	}
	if expires := dynamo.Digits(image, expiresAttribute); expires != "" {
		seconds, err := dynamo.ParseInteger(expires)
		if err != nil {
			return s, errs.Errorf("its %s is no time", redact.Safe(expiresAttribute))
		}
		s.Tombstone, s.Expires = true, time.Unix(seconds, 0).UTC()
		return s, nil
	}
	var err error
	s.Item, err = sdkvalue.Image(unmarked(image))
	return s, err
}

// unmarked takes the store's own attributes out of an item.
func unmarked(item dynamo.Item) dynamo.Item {
	for name := range item {
		if strings.HasPrefix(name, markAttribute) {
			delete(item, name)
		}
	}
	return item
}
