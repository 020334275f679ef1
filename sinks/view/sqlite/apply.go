package sqlite

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/view"
)

// Apply writes the mutations in one transaction. Its error is transient where
// another process has the file, and fatal where the file or its disk is at fault.
func (s *Store) Apply(ctx context.Context, target view.Target, ms []view.Mutation) ([]view.Result, error) {
	done, err := s.use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := s.table(ctx, target.Table)
	if err != nil {
		return nil, err
	}
	rs := make([]view.Result, len(ms))
	// A statement whose context can be cancelled costs a goroutine: the loop asks instead.
	run := context.WithoutCancel(ctx)
	err = s.transact(run, func() error {
		for i := range ms {
			if ctx.Err() != nil {
				return stopped(ctx)
			}
			if rs[i], err = s.write(run, t, &target, &ms[i]); err != nil {
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

func (s *Store) write(ctx context.Context, t *table, target *view.Target, m *view.Mutation) (view.Result, error) {
	pk, sk, version := keyColumn(m.PK), keyColumn(m.SK), m.Version.String()
	var attributes, item any // NULL
	if !m.Tombstone {
		s.buf = appendPlain(s.buf[:0], m.Attributes)
		attributes = string(s.buf)
		s.buf = appendItem(s.buf[:0], t, m)
		item = string(s.buf)
	}
	res, err := t.write.ExecContext(ctx, pk, sk, version, target.Pipeline, target.View, string(m.Source), attributes, item)
	if err != nil {
		if tooBig(err) {
			return view.Result{Err: fmt.Errorf("sqlite: the row is too large: %w", err)}, nil
		}
		return view.Result{}, s.failed("write", err)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return view.Result{}, s.failed("write", err)
	}
	var held, owner string
	if err := t.guard.QueryRowContext(ctx, pk, sk).Scan(&held, &owner); err != nil {
		return view.Result{}, s.failed("read", err)
	}
	if owner != target.View {
		return view.Result{Err: fmt.Errorf("sqlite: the row of item %s belongs to the view %s of table %s, and %s may not write it: give one of the two views another row key",
			m.Source, owner, t.Name, target.View)}, nil
	}
	return view.Result{Superseded: held != version}, nil
}

// transact runs do in a transaction that has the file to itself.
func (s *Store) transact(ctx context.Context, do func() error) (err error) {
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return s.failed("begin", err)
	}
	if err = do(); err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
		err = s.failed("commit", err)
	}
	if err == nil {
		return nil
	}
	// Some errors, a full disk among them, roll back by themselves: then there is nothing left to do.
	if _, undo := s.conn.ExecContext(ctx, "ROLLBACK"); undo != nil && !noTransaction(undo) {
		return errors.Join(err, s.failed("rollback", undo))
	}
	return err
}

// appendPlain appends the attributes as plain JSON.
func appendPlain(dst []byte, columns []view.Column) []byte {
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
func appendItem(dst []byte, t *table, m *view.Mutation) []byte {
	dst = append(appendName(append(dst, '{'), t.PK), ':')
	dst = m.PK.AppendDynamoDBJSON(dst)
	if t.SK != "" {
		dst = append(appendName(append(dst, ','), t.SK), ':')
		dst = m.SK.AppendDynamoDBJSON(dst)
	}
	for _, c := range m.Attributes {
		dst = append(appendName(append(dst, ','), c.Name), ':')
		dst = c.Value.AppendDynamoDBJSON(dst)
	}
	return append(dst, '}')
}

// appendName appends an attribute's name as a JSON string.
func appendName(dst []byte, name string) []byte {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return pipeline.StringValue(name).AppendJSON(dst)
		}
	}
	dst = append(append(dst, '"'), name...)
	return append(dst, '"')
}
