package sqlite

import "context"

// Target is whose state it is: a sink's, of one pipeline, in one table, since its output began
// there: what is remembered under another birth is another target's.
type Target struct {
	Pipeline, Table, View, Birth string
}

// Target is the number that stands for t in the tables of state. It is called
// outside a transaction, and makes the number durable.
func (w *Writer) Target(ctx context.Context, t Target) (int64, error) {
	if id, ok := w.targets[t]; ok {
		return id, nil
	}
	const find = `SELECT id FROM "_tws_targets" WHERE pipeline = ? AND name = ? AND view = ? AND birth = ?`
	ctx = context.WithoutCancel(ctx)
	key := []any{t.Pipeline, t.Table, t.View, t.Birth}
	var id int64
	found, err := w.Row(ctx, find, key, &id)
	if err == nil && !found {
		err = w.Transact(ctx, func() error {
			// Another process may have been first.
			if err := w.Exec(ctx, `INSERT INTO "_tws_targets" (pipeline, name, view, birth) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, key...); err != nil {
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
