package dynamo

import (
	"context"
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

// StoredRows reads the items at the keys of rows, 100 in a request. If no sink wrote an item, its View is "".
// StoredRows does not find tombstones that are apart, because they are in the state table. [Store.StoredRows] finds
// them.
func (r *Reader) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	refs, err := refsOf(t.Table, rows)
	if err != nil {
		return nil, err
	}
	items, err := r.views.Get(ctx, refs)
	if err != nil {
		return nil, tableError(t.Table, err)
	}
	stored := make([]view.StoredRow, len(rows))
	for i, item := range items {
		if item == nil {
			continue
		}
		if stored[i], err = storedRow(maps.Clone(item)); err != nil {
			return nil, fmt.Errorf("dynamodb: a row of table %s: %w", t.Name, err)
		}
	}
	return stored, nil
}

var _ view.Inspector = (*Store)(nil)

// StoredRows reads rows like [Reader.StoredRows], and also finds tombstones that are apart.
func (s *Store) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	stored, err := s.Reader.StoredRows(ctx, t, rows)
	if err != nil || t.InPlace {
		return stored, err
	}
	var missing []int
	var missingRows []state.Row
	for i := range stored {
		if !stored[i].Exists {
			missing, missingRows = append(missing, i), append(missingRows, rows[i])
		}
	}
	if len(missingRows) == 0 {
		return stored, nil
	}
	tombstones, err := s.Tombstones(ctx, t.State(), missingRows)
	if err != nil {
		return nil, err
	}
	for m, i := range missing {
		tombstone := tombstones[m]
		if tombstone == nil {
			continue
		}
		if stored[i], err = t.StoredTombstone(tombstone); err != nil {
			return nil, s.Damaged("a tombstone of the view "+t.View, err)
		}
	}
	return stored, nil
}

// refsOf returns the references to rows.
func refsOf(t view.Table, rows []state.Row) (refs []dynamo.Ref, err error) {
	refs = make([]dynamo.Ref, len(rows))
	for i, row := range rows {
		if refs[i], err = refOf(t, row); err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// refOf returns the reference to a row. It returns an error if the table cannot have such a key.
func refOf(t view.Table, row state.Row) (dynamo.Ref, error) {
	pk, sk, err := decodeRow(t, row)
	if err != nil {
		return dynamo.Ref{}, err
	}
	key := keyItem(t, pk, sk)
	if err := checkKey(t, key); err != nil {
		return dynamo.Ref{}, err
	}
	return dynamo.Ref{Table: t.Name, Key: key}, nil
}

// decodeRow returns the values of the key attributes of a row.
func decodeRow(t view.Table, row state.Row) (pk, sk item.Value, err error) {
	pk, sk, err = row.Decode()
	if err == nil && sk.Exists() != (t.SK != "") {
		err = errs.New("another number of attributes")
	}
	if err != nil {
		err = fmt.Errorf("dynamodb: a row is not a key of table %s: %w", t.Name, err)
	}
	return pk, sk, err
}

func keyItem(t view.Table, pk, sk item.Value) dynamo.Item {
	key := dynamo.Item{t.PK: sdkvalue.Of(pk)}
	if t.SK != "" {
		key[t.SK] = sdkvalue.Of(sk)
	}
	return key
}

// storedRow parses the item of a row or a tombstone.
func storedRow(image dynamo.Item) (view.StoredRow, error) {
	row := view.StoredRow{Exists: true}
	if m, ok := metaOf(image); ok {
		var err error
		if row.Version, err = record.ParseVersion(m.version); err != nil {
			return row, errNoVersion
		}
		row.Source, row.View, row.Pipeline, row.Birth, row.Revision = item.Key(m.source), m.view, m.pipeline, m.birth,
			m.revision
	}
	if expires := dynamo.Digits(image, expiresAttribute); expires != "" {
		seconds, err := dynamo.ParseInteger(expires)
		if err != nil {
			return row, errs.Errorf("its %s is not a time", redact.Safe(expiresAttribute))
		}
		row.Tombstone, row.InPlace, row.Expires = true, true, time.Unix(seconds, 0).UTC()
		return row, nil
	}
	var err error
	row.Item, err = sdkvalue.Image(withoutMeta(image))
	return row, err
}

// withoutMeta removes the store's own attributes from item, and returns it.
func withoutMeta(item dynamo.Item) dynamo.Item {
	for name := range item {
		if strings.HasPrefix(name, metaAttribute) {
			delete(item, name)
		}
	}
	return item
}
