package sqlite

import (
	"context"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// Apply writes the mutations in one transaction. The error is transient if another process has locked the file. It is
// fatal if the file or its disk is damaged or full.
func (s *Store) Apply(ctx context.Context, target view.Target, ms []view.Mutation) ([]view.Result, error) {
	rs := make([]view.Result, len(ms))
	transact, apply := s.withState, (*tx).applyApart
	if target.InPlace {
		transact, apply = s.withTable, (*tx).applyInPlace
	}
	err := transact(ctx, target, func(x *tx) error {
		for i := range ms {
			if ctx.Err() != nil {
				return sqlite.CanceledError(ctx)
			}
			refusal, err := x.refusedByItem(&ms[i])
			if err != nil {
				return err
			}
			if refusal != nil {
				rs[i] = *refusal
				continue
			}
			if rs[i], err = apply(x, &ms[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rs, nil
}

// refusedByItem returns the result of a mutation if a row or tombstone of another item is stored at its key and refuses
// it. It returns nil if the mutation is not refused.
func (x *tx) refusedByItem(m *view.Mutation) (*view.Result, error) {
	if !x.target.RefuseOtherItem {
		return nil, nil
	}
	stored, err := x.storedRow(m.PK, m.SK)
	if err != nil {
		return nil, err
	}
	isForeign := stored.View != x.target.View || stored.Pipeline != x.target.Pipeline
	if stored.Exists && isForeign {
		return nil, nil
	}
	owner, version := stored.Source, stored.Version.String()
	if !stored.Exists {
		apart, err := x.Tombstone(x.ctx, x.id, keyColumn(m.PK), keyColumn(m.SK))
		if apart.Version == "" || err != nil {
			return nil, err
		}
		owner, version = apart.Source, apart.Version
	}

	isRow := stored.Exists && !stored.Tombstone
	switch {
	case owner == m.Source:
		return nil, nil
	case isRow && m.Tombstone:
		return &view.Result{Superseded: true}, nil
	case isRow, !m.Tombstone && version >= m.Version.String():
		return &view.Result{Err: &view.CollisionError{View: x.target.View, Owner: owner, Source: m.Source,
			NotIdentified: true}}, nil
	default:
		return nil, nil
	}
}

// applyInPlace writes a row, or its tombstone at the row's key, with one statement that compares versions.
func (x *tx) applyInPlace(m *view.Mutation) (view.Result, error) {
	n, err := x.ExecCount(x.ctx, x.table.put, x.rowValues(m, m.Version.String())...)
	if sqlite.IsTooBig(err) {
		return view.Result{Err: err}, nil
	}
	if err != nil || n > 0 {
		return view.Result{}, err
	}
	r, _, err := x.refusedByRow(m)
	return r, err
}

// rowValues returns the arguments of a statement that inserts a row, or its tombstone in place.
func (x *tx) rowValues(m *view.Mutation, version string) []any {
	var attributes, item any // NULL
	if !m.Tombstone {
		attributes, item = x.rowJSON(m.PK, m.SK, m.Attributes)
	}
	return []any{keyColumn(m.PK), keyColumn(m.SK), version, m.Void, x.target.Pipeline, x.target.View, x.target.Birth,
		string(m.Source), attributes, item}
}

// rowJSON returns the attributes of a row as plain JSON, and the whole row as DynamoDB JSON.
func (x *tx) rowJSON(pk, sk item.Value, columns []state.Column) (attributes, item string) {
	s := x.store
	s.buf = appendPlain(s.buf[:0], columns)
	attributes = string(s.buf)
	s.buf = appendItem(s.buf[:0], x.table.Table, pk, sk, columns)
	return attributes, string(s.buf)
}

// appendPlain appends the attributes as plain JSON.
func appendPlain(dst []byte, columns []state.Column) []byte {
	dst = append(dst, '{')
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendName(dst, c.Name), ':')
		dst = c.Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// appendItem appends the whole row as DynamoDB JSON.
func appendItem(dst []byte, t view.Table, pk, sk item.Value, columns []state.Column) []byte {
	dst = append(appendName(append(dst, '{'), t.PK), ':')
	dst = pk.AppendDynamoDBJSON(dst)
	if t.SK != "" {
		dst = append(appendName(append(dst, ','), t.SK), ':')
		dst = sk.AppendDynamoDBJSON(dst)
	}
	for _, c := range columns {
		dst = append(appendName(append(dst, ','), c.Name), ':')
		dst = c.Value.AppendDynamoDBJSON(dst)
	}
	return append(dst, '}')
}

// appendName appends an attribute's name as a JSON string.
func appendName(dst []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return item.StringValue(name).AppendJSON(dst)
		}
	}
	dst = append(append(dst, '"'), name...)
	return append(dst, '"')
}
