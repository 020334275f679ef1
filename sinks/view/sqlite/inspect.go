package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.Inspector = (*Store)(nil)

// Stands reads what stands at the keys of rows. Tombstones stay for good.
func (s *Store) Stands(ctx context.Context, t view.Target, rows []state.Row) ([]view.Standing, error) {
	var known int
	err := s.Reader().QueryRowContext(ctx, `SELECT 1 FROM "_tw_tables" WHERE name = ?`, t.Name).Scan(&known)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("sqlite: %s: %w: %q", s.Path(), view.ErrNoTable, t.Name)
	}
	if err != nil {
		return nil, s.Failed("read", err)
	}
	query := "SELECT version, pipeline, view, source, item FROM " + quote(prefix+t.Name) + " WHERE pk = ? AND sk = ?"
	standings := make([]view.Standing, len(rows))
	for i, row := range rows {
		pk, sk, err := row.Decode()
		if err != nil {
			return nil, err
		}
		if standings[i], err = s.standing(ctx, query, pk, sk); err != nil {
			return nil, err
		}
		if standings[i].There || t.InPlace {
			continue
		}
		if standings[i], err = s.tombstone(ctx, t, pk, sk); err != nil {
			return nil, err
		}
	}
	return standings, nil
}

func (s *Store) standing(ctx context.Context, query string, pk, sk pipeline.Value) (st view.Standing, err error) {
	var version, source string
	var item []byte
	err = s.Reader().QueryRowContext(ctx, query, keyColumn(pk), keyColumn(sk)).Scan(&version, &st.Pipeline, &st.View, &source, &item)
	if errors.Is(err, sql.ErrNoRows) {
		return view.Standing{}, nil
	}
	if err != nil {
		return st, s.Failed("read", err)
	}
	st.There, st.Tombstone, st.Source = true, item == nil, pipeline.Key(source)
	if st.Version, err = pipeline.ParseVersion(version); err != nil {
		return st, fmt.Errorf("sqlite: %s: a row of item %s: %w", s.Path(), source, err)
	}
	if st.Tombstone {
		return st, nil
	}
	if st.Item, err = pipeline.ParseImage(item); err != nil {
		err = fmt.Errorf("sqlite: %s: a row of item %s: %w", s.Path(), source, err)
	}
	return st, err
}

// tombstone is one that is apart from its row.
func (s *Store) tombstone(ctx context.Context, t view.Target, pk, sk pipeline.Value) (st view.Standing, err error) {
	const query = `SELECT s.version, s.item FROM "_tws_targets" t JOIN "_tws_tombstones" s ON s.target = t.id
WHERE t.pipeline = ? AND t.name = ? AND t.view = ? AND s.pk = ? AND s.sk = ?`
	var version, source string
	err = s.Reader().QueryRowContext(ctx, query, t.Pipeline, t.Name, t.View, keyColumn(pk), keyColumn(sk)).Scan(&version, &source)
	if errors.Is(err, sql.ErrNoRows) {
		return view.Standing{}, nil
	}
	if err != nil {
		return st, s.Failed("read", err)
	}
	st = view.Standing{There: true, Tombstone: true, Source: pipeline.Key(source), View: t.View, Pipeline: t.Pipeline}
	if st.Version, err = pipeline.ParseVersion(version); err != nil {
		err = s.Damaged("the tombstone of a row of item "+source, err)
	}
	return st, err
}
