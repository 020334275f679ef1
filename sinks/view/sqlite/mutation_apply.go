package sqlite

import (
	"context"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// Apply writes the mutations in one transaction. The error is transient if another process has locked the file. It is
// fatal if the file or its disk is damaged or full.
func (s *Store) Apply(ctx context.Context, target view.Target, ms []view.Mutation) ([]view.Result, error) {
	rs := make([]view.Result, len(ms))
	transact := s.withState
	if target.InPlace {
		transact = s.withTable
	}
	err := transact(ctx, target, func(x *tx) (err error) {
		for i := range ms {
			if ctx.Err() != nil {
				return sqlite.CanceledError(ctx)
			}
			if rs[i], err = x.apply(&ms[i]); err != nil {
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

// apply writes a row or its tombstone.
func (x *tx) apply(m *view.Mutation) (view.Result, error) {
	if x.target.RefuseOtherItem { // the statements do not compare items
		if r, refused, err := x.refusal(m); err != nil || refused {
			return r, err
		}
	}
	switch {
	case x.target.InPlace:
		return x.applyInPlace(m)
	case m.Tombstone:
		return x.removeRow(m)
	default:
		return x.putApart(m)
	}
}

// refusal returns the result of a mutation if the row or tombstone at its key refuses it. If nothing is at the key, the
// tombstone apart may refuse it.
func (x *tx) refusal(m *view.Mutation) (r view.Result, refused bool, err error) {
	stored, err := x.ownerAt(m.PK, m.SK)
	if err != nil {
		return r, false, err
	}
	if stored.foreign != nil {
		return view.Result{Err: stored.foreign}, true, nil //nolint:nilerr // the error is the result of the mutation
	}
	isKeyFree := stored.Version == ""
	if isKeyFree && !x.target.InPlace {
		stored.Tombstone, err = x.Tombstone(x.id, keyColumn(m.PK), keyColumn(m.SK))
	}
	if err != nil || stored.Version == "" { // there is no tombstone apart either
		return r, false, err
	}
	r, refused = x.target.Refusal(stored.StoredEntry, m)
	return r, refused, nil
}

// applyInPlace writes a row, or its tombstone at the row's key, with one statement that compares versions.
func (x *tx) applyInPlace(m *view.Mutation) (view.Result, error) {
	n, err := x.ExecCount(x.table.putIfNewer, x.rowValues(m, m.Version.String())...)
	if sqlite.IsTooBig(err) {
		return view.Result{Err: err}, nil
	}
	if err != nil || n > 0 {
		return view.Result{}, err
	}
	r, _, err := x.refusal(m)
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
		dst = append(item.AppendJSONText(dst, c.Name), ':')
		dst = c.Value.AppendJSON(dst)
	}
	return append(dst, '}')
}

// appendItem appends the whole row as DynamoDB JSON.
func appendItem(dst []byte, t view.Table, pk, sk item.Value, columns []state.Column) []byte {
	dst = item.AppendMember(append(dst, '{'), t.PK, pk)
	dst = item.AppendMember(dst, t.SK, sk)
	for _, c := range columns {
		dst = item.AppendMember(dst, c.Name, c.Value)
	}
	return append(dst, '}')
}
