package sqlite

import "context"

// Target is whose state it is: a sink's, of one pipeline, in one table.
type Target struct {
	Pipeline, Table, View string
}

// Target is the number that stands for t in the tables of state. It is called
// outside a transaction, and makes the number durable.
func (w *Writer) Target(ctx context.Context, t Target) (int64, error) {
	if id, ok := w.targets[t]; ok {
		return id, nil
	}
	const find = `SELECT id FROM "_tws_targets" WHERE pipeline = ? AND name = ? AND view = ?`
	ctx = context.WithoutCancel(ctx)
	key := []any{t.Pipeline, t.Table, t.View}
	var id int64
	found, err := w.Row(ctx, find, key, &id)
	if err == nil && !found {
		err = w.Transact(ctx, func() error {
			// Another process may have been first.
			if err := w.Exec(ctx, `INSERT INTO "_tws_targets" (pipeline, name, view) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, key...); err != nil {
				return err
			}
			_, err := w.Row(ctx, find, key, &id)
			return err
		})
	}
	if err != nil {
		return 0, err
	}
	w.targets[t] = id
	return id, nil
}
