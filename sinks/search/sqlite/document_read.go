package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

// Search finds documents. The package comment defines the query language. The error is a [QueryError] if
// the query is not valid.
func (s *Store) Search(ctx context.Context, index, query string, limit int) (hits search.Hits, err error) {
	number, err := s.find(ctx, index, anySink)
	if err != nil {
		return hits, err
	}
	clauses, err := parse(query)
	if err != nil {
		return hits, fmt.Errorf("sqlite: %w", err)
	}

	f := finder{index: number}
	for i := range clauses {
		if err := s.findClause(ctx, &f, i, &clauses[i]); err != nil {
			return hits, err
		}
	}
	onlyExcludes := !slices.ContainsFunc(clauses, func(c clause) bool { return c.need != mustNot })
	if onlyExcludes {
		f.add(everything, may, allOfThem, number)
	}
	f.args = append(f.args, number, cmp.Or(limit, 10))
	rows, err := s.db.Reader().QueryContext(ctx, f.selectBest(), f.args...)
	if err != nil {
		return hits, s.db.WrapError("search", err)
	}
	defer rows.Close()
	for rows.Next() {
		d := search.Document{Index: index}
		if err := rows.Scan(&hits.Total, &d.ID, &d.Score, (*[]byte)(&d.Doc)); err != nil {
			return hits, s.db.WrapError("search", err)
		}
		hits.Documents = append(hits.Documents, d)
	}
	return hits, s.db.WrapError("search", rows.Err())
}

// finder builds the SELECT of a query. Each clause has a SELECT, which returns the documents of the clause. The finder
// joins these SELECTs.
type finder struct {
	index   int64
	selects []string // each selects documents, with the number of its clause and whether the clause must match
	args    []any
	musts   int // number of clauses that a document must match
}

// add adds a SELECT of a clause. columns is its text after SELECT. It has a %d for the number of the clause, and a
// second %d for the need.
func (f *finder) add(clauseNumber int, n need, columns string, args ...any) {
	f.selects = append(f.selects, "SELECT "+fmt.Sprintf(columns, clauseNumber, n))
	f.args = append(f.args, args...)
}

const (
	fieldPath = `SELECT id FROM "_tws_paths" WHERE "index" = ? AND path = ?`

	// wordsInAny finds words in any field of any index. selectBest leaves out the documents of other indexes.
	wordsInAny   = `rowid & 4294967295 AS doc, %d AS clause, %d AS need FROM "_tws_words" WHERE "_tws_words" MATCH ?`
	wordsInField = wordsInAny + ` AND rowid BETWEEN ? AND ?`

	valuesInField = `doc, %d AS clause, %d AS need FROM "_tws_values" WHERE path = ? AND value BETWEEN ? AND ?`
	valuesInAny   = `v.doc AS doc, %d AS clause, %d AS need FROM "_tws_paths" p CROSS JOIN "_tws_values" v WHERE p."index" = ? AND v.path = p.id AND v.value BETWEEN ? AND ?`

	allOfThem = `doc, %d AS clause, %d AS need FROM "_tws_documents" WHERE "index" = ?`
)

// everything is the number of the clause that matches all documents.
const everything = -1

// findClause adds the queries of the i-th clause.
func (s *Store) findClause(ctx context.Context, f *finder, i int, c *clause) error {
	path := int64(0) // no field has the number 0
	if c.field != "" {
		err := s.db.Reader().QueryRowContext(ctx, fieldPath, f.index, c.field).Scan(&path)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return s.db.WrapError("search", err)
		}
	}

	if c.need == must {
		f.musts++
	}
	if c.words != "" {
		f.addWords(i, c, path)
	}
	if c.low != nil {
		f.addValues(i, c, path)
	}
	return nil
}

// addWords adds the query for the words of the i-th clause. path is the number of its field.
func (f *finder) addWords(i int, c *clause, path int64) {
	match := `"` + c.words + `"`
	if c.isPrefix {
		match += " *"
	}
	if c.field == "" {
		f.add(i, c.need, wordsInAny, match)
	} else {
		f.add(i, c.need, wordsInField, match, rowid(path, 0), rowid(path, mostDoc))
	}
}

// addValues adds the query for the values of the i-th clause. path is the number of its field.
func (f *finder) addValues(i int, c *clause, path int64) {
	query, args := valuesInField, []any{path, c.low, c.high}
	if c.field == "" {
		query, args = valuesInAny, []any{f.index, c.low, c.high}
	}
	if c.aboveLow {
		query += " AND value > ?"
		args = append(args, c.low)
	}
	if c.belowHigh {
		query += " AND value < ?"
		args = append(args, c.high)
	}
	f.add(i, c.need, query, args...)
}

// selectBest returns a SELECT of the best documents, each with the number of all hits. The arguments are f.args, the
// index and the limit.
//
// The score of a document is the sum of the weights of the clauses that it matches. A clause that matches n documents
// has the weight 1/(1 + ln n). So scores depend only on the present content of the index. The scores of FTS5 depend on
// deleted content too.
//
// found has the documents of each clause, weights the weight of each clause, and hits the documents that match all
// clauses that must match, and none that must not.
func (f *finder) selectBest() string {
	return fmt.Sprintf(`WITH found AS MATERIALIZED (
	SELECT d.doc, d.id, x.clause, x.need FROM (SELECT DISTINCT doc, clause, need FROM (%s)) x
	CROSS JOIN "_tws_documents" d WHERE d.doc = x.doc AND d."index" = ? AND d.source IS NOT NULL
), weights AS MATERIALIZED (
	SELECT clause, iif(clause = %d, 0.0, 1.0 / (1.0 + ln(count(*)))) AS weight FROM found GROUP BY clause
), hits AS MATERIALIZED (
	SELECT doc, id, round(sum(weight), 6) AS score FROM found JOIN weights USING (clause)
	GROUP BY doc HAVING total(need = %d) = %d AND total(need = %d) = 0
), best AS (SELECT doc, id, score FROM hits ORDER BY score DESC, id LIMIT ?)
SELECT (SELECT count(*) FROM hits), best.id, best.score, d.source
FROM best CROSS JOIN "_tws_documents" d WHERE d.doc = best.doc ORDER BY best.score DESC, best.id`,
		strings.Join(f.selects, " UNION ALL "), everything, must, f.musts, mustNot)
}

const readDocuments = `SELECT id, source FROM "_tws_documents" WHERE "index" = ? AND source IS NOT NULL ORDER BY id`

// Documents yields every document of an index in the order of the ids, as they are when the read begins.
func (s *Store) Documents(ctx context.Context, index string) iter.Seq2[search.Document, error] {
	return seq.Lazy(func() (iter.Seq2[search.Document, error], error) {
		number, err := s.find(ctx, index, anySink)
		if err != nil {
			return nil, err
		}
		scan := func(rows *sql.Rows) (search.Document, error) {
			d := search.Document{Index: index}
			err := rows.Scan(&d.ID, (*[]byte)(&d.Doc))
			return d, err
		}
		return sqlite.Read(ctx, s.db, readDocuments, []any{number}, scan), nil
	})
}
