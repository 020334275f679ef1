package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

const (
	// readRowClaims returns the owners of rows, and the claims of items on rows. In a damaged row an owner has no
	// claim, or claims have no owner. It is also returned, and the next write repairs it. The tables have older names:
	// _tws_seats has an owner record for each row, and holder is the owner.
	readRowClaims = `SELECT j.key, ifnull(s.revision, ''), ifnull(s.holder, ''), ifnull(c.item, ''), ifnull(c.version, ''), ifnull(c.time, 0), ifnull(c.attributes, '')
FROM json_each(?1) j LEFT JOIN "_tws_seats" s ON s.target = ?2 AND s.row = j.value LEFT JOIN "_tws_claims" c ON c.target = ?2 AND c.row = j.value
WHERE s.row IS NOT NULL OR c.item IS NOT NULL`

	readRevision = `SELECT revision FROM "_tws_seats" WHERE target = ? AND row = ?`

	writeOwner = `INSERT OR REPLACE INTO "_tws_seats" (target, row, revision, holder) VALUES (?, ?, ?, ?)`

	deleteOwner = `DELETE FROM "_tws_seats" WHERE target = ? AND row = ?`

	writeClaim = `INSERT OR REPLACE INTO "_tws_claims" (target, row, item, version, time, attributes) VALUES (?, ?, ?, ?, ?, ?)`

	readContested = `SELECT c.row, s.holder, c.item
FROM "_tws_targets" t JOIN "_tws_claims" c ON c.target = t.id JOIN "_tws_seats" s ON s.target = c.target AND s.row = c.row
WHERE ` + isTarget + ` AND c.item <> s.holder ORDER BY c.row, c.item`

	deleteClaim = `DELETE FROM "_tws_claims" WHERE target = ? AND row = ? AND item = ?`
)

// RowClaims reads the claims on rows, and returns them in the order of rows.
func (w *Writer) RowClaims(target int64, rows []state.Row) ([]state.RowClaims, error) {
	all := make([]state.RowClaims, len(rows))
	for i, row := range rows {
		all[i].Row = row
	}
	err := w.QueryRows(readRowClaims, []any{JSONArray(rows), target}, func(found *sql.Rows) error {
		return w.db.addClaim(all, found)
	})
	return all, err
}

// addClaim adds a row of the query readRowClaims to the row of all that it belongs to.
func (db *DB) addClaim(all []state.RowClaims, found *sql.Rows) error {
	var position int // of the row in all
	var ns int64
	var revision, owner, source, version, attributes string
	if err := found.Scan(&position, &revision, &owner, &source, &version, &ns, &attributes); err != nil {
		return db.WrapError("read", err)
	}
	row := &all[position]
	row.Revision = revision
	if source == "" {
		return nil // the row has an owner record and no claims
	}
	claim, err := parseClaim(source, version, ns, attributes)
	if err != nil {
		return db.Damaged("a claim on the row "+string(row.Row), err)
	}
	if source == owner {
		row.Owner = claim
	} else {
		row.Waiting = append(row.Waiting, claim)
	}
	return nil
}

// ContestedRows yields the rows of a target on which claims wait, in order, as of the start of the read. An error ends
// the sequence. The query returns each waiting claim, row by row.
func (db *DB) ContestedRows(ctx context.Context, t state.Target) iter.Seq2[state.ContestedRow, error] {
	scan := func(rows *sql.Rows) (r state.ContestedRow, err error) {
		r.Waiting = make([]item.Key, 1)
		err = rows.Scan(&r.Row, &r.Owner, &r.Waiting[0])
		return r, err
	}
	sameRow := func(a, b state.ContestedRow) bool { return a.Row == b.Row }
	claims := seq.ChunkBy(Read(ctx, db, readContested, targetArgs(t), scan), sameRow)
	return seq.Map(claims, func(claims []state.ContestedRow) (row state.ContestedRow, keep bool, err error) {
		row = claims[0]
		for _, c := range claims[1:] {
			row.Waiting = append(row.Waiting, c.Waiting...)
		}
		return row, true, nil
	})
}

// SetClaims changes the guard of an item and its claims, within a transaction. It returns false if the guard or the
// claims on a row are not as expected. The caller then rolls the transaction back.
func (w *Writer) SetClaims(target int64, write *state.ItemWrite) (bool, error) {
	if ok, err := w.setGuard(target, write); err != nil || !ok {
		return false, err
	}
	for i := range write.Rows {
		if ok, err := w.setClaim(target, write.Source, &write.Rows[i]); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// setClaim changes an item's claim on a row, and the row's owner. It returns false if the revision is not as expected.
func (w *Writer) setClaim(
	target int64, source item.Key, write *state.RowClaimsWrite,
) (bool, error) {
	row := string(write.Row)
	var revision string
	_, err := w.QueryRow(readRevision, []any{target, row}, &revision)
	if err != nil || revision != write.Expected {
		return false, err
	}

	if c := &write.Claim; c.Source == "" {
		err = w.Exec(deleteClaim, target, row, string(source))
	} else {
		err = w.Exec(writeClaim, target, row, string(c.Source), c.Version.String(), c.Time.UnixNano(),
			columnsJSON(c.Attributes))
	}
	if err != nil {
		return false, err
	}

	if write.Revision == "" {
		err = w.Exec(deleteOwner, target, row)
	} else {
		err = w.Exec(writeOwner, target, row, write.Revision, string(write.Owner.Source))
	}
	return err == nil, err
}

// columnsJSON returns the attributes of a claim as DynamoDB JSON.
func columnsJSON(columns []state.Column) string {
	b := []byte{'{'}
	for _, c := range columns {
		b = item.AppendMember(b, c.Name, c.Value)
	}
	return string(append(b, '}'))
}

// parseClaim returns a claim from its stored columns. ns is its time in Unix nanoseconds.
func parseClaim(source, version string, ns int64, attributes string) (state.Claim, error) {
	v, err := record.ParseVersion(version)
	if err != nil {
		return state.Claim{}, err
	}
	image, err := item.Parse([]byte(attributes))
	if err != nil {
		return state.Claim{}, err
	}
	claim := state.Claim{Source: item.Key(source), Version: v, Time: time.Unix(0, ns).UTC()}
	for name, value := range image.All() {
		claim.Attributes = append(claim.Attributes, state.Column{Name: name, Value: value})
	}
	return claim, nil
}
