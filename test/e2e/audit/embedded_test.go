package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// embedded changes views.db by SQL in one transaction.
type embedded struct {
	t        *testing.T
	path     string
	index    string // the names of indexes begin with it
	tx       *sql.Tx
	db       *sql.DB
	prepared map[string]*sql.Stmt
}

func (e *embedded) open() {
	db, err := sql.Open("sqlite", "file:"+e.path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		e.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	e.db = db
}

// remember implements [stores]. It copies the file.
func (e *embedded) remember() {
	e.open()
	_, err := e.db.ExecContext(e.t.Context(), "VACUUM INTO ?", e.path+".old")
	if err := errors.Join(err, e.db.Close()); err != nil {
		e.t.Fatal(err)
	}
}

// begin begins the transaction of the injections.
func (e *embedded) begin() {
	e.open()
	_, err := e.db.ExecContext(e.t.Context(), "ATTACH ? AS old", e.path+".old")
	if err == nil {
		e.tx, err = e.db.BeginTx(context.WithoutCancel(e.t.Context()), nil)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	e.prepared = make(map[string]*sql.Stmt)
}

func (e *embedded) done() error { return errors.Join(e.tx.Commit(), e.db.Close()) }

// exec runs a statement that must change one row.
func (e *embedded) exec(q string, args ...any) {
	e.t.Helper()
	if e.prepared[q] == nil {
		s, err := e.tx.PrepareContext(e.t.Context(), q)
		if err != nil {
			e.t.Fatalf("%s: %v", q, err)
		}
		e.prepared[q] = s
	}
	r, err := e.prepared[q].ExecContext(e.t.Context(), args...)
	if err != nil {
		e.t.Fatalf("%s: %v", q, err)
	}
	if n, _ := r.RowsAffected(); n != 1 {
		e.t.Fatalf("%s %v changed %d rows, want 1", q, args, n)
	}
}

const target = `(SELECT id FROM "_tws_targets" WHERE view = ?)`

func (e *embedded) restoreRow(pk, sk string) {
	e.exec(`INSERT OR REPLACE INTO "_tw_views" SELECT * FROM old."_tw_views" WHERE pk = ? AND sk = ?`, pk, sk)
}

func (e *embedded) restoreShares(sink, item string) {
	e.exec(`INSERT OR REPLACE INTO "_tws_contributions" SELECT * FROM old."_tws_contributions" WHERE target = `+target+` AND item = ?`, sink, item)
}

func (e *embedded) restoreDocument(index, id string) {
	e.exec(`UPDATE "_tws_documents" AS d SET version = o.version, source = o.source FROM old."_tws_documents" o WHERE o.doc = d.doc AND d.doc = `+document, e.index+index, id)
}

const document = `(SELECT doc FROM "_tws_documents" WHERE "index" = (SELECT id FROM "_tws_indexes" WHERE name = ?) AND id = ?)`

func (e *embedded) removeRow(pk, sk string) {
	e.exec(`DELETE FROM "_tw_views" WHERE pk = ? AND sk = ?`, pk, sk)
}

func (e *embedded) changeRow(pk, sk, attribute, text string) {
	e.exec(`UPDATE "_tw_views" SET item = json_set(item, '$.' || ?, json_object('S', ?)) WHERE pk = ? AND sk = ?`, attribute, text, pk, sk)
}

func (e *embedded) copyRow(pk, sk, toPK, toSK, source string) {
	e.exec(`INSERT INTO "_tw_views" SELECT ?, ?, version, void, pipeline, view, birth, ?, attributes,
		json_set(item, '$.PK', json_object('S', ?), '$.SK', json_object('S', ?)) FROM "_tw_views" WHERE pk = ? AND sk = ?`, toPK, toSK, source, toPK, toSK, pk, sk)
}

func (e *embedded) setSource(pk, sk, source string) {
	e.exec(`UPDATE "_tw_views" SET source = ? WHERE pk = ? AND sk = ?`, source, pk, sk)
}

func (e *embedded) setBirth(pk, sk string) {
	e.exec(`UPDATE "_tw_views" SET birth = 'another' WHERE pk = ? AND sk = ?`, pk, sk)
}

func (e *embedded) buryRow(pk, sk, version string) {
	e.exec(`UPDATE "_tw_views" SET item = NULL, attributes = NULL, version = ? WHERE pk = ? AND sk = ?`, version, pk, sk)
}

func (e *embedded) addTombstone(sink, pk, sk, source, version string) {
	e.exec(`INSERT INTO "_tws_tombstones" (target, pk, sk, version, void, item, written) VALUES (`+target+`, ?, ?, ?, 0, ?, unixepoch() * 1000000000)`, sink, pk, sk, version, source)
}

func (e *embedded) removeGuard(item string) {
	e.exec(`DELETE FROM "_tws_guards" WHERE target = `+target+` AND item = ?`, "names", item)
}

func (e *embedded) setGuard(item, row string) {
	e.exec(`UPDATE "_tws_guards" SET row = ? WHERE target = `+target+` AND item = ?`, row, "names", item)
}

func (e *embedded) copyGuard(from, to string) {
	e.exec(`INSERT INTO "_tws_guards" SELECT target, ?, version, void, row, written FROM "_tws_guards" WHERE target = `+target+` AND item = ?`, to, "names", from)
}

func (e *embedded) removeClaim(row, item string) {
	e.exec(`DELETE FROM "_tws_claims" WHERE target = `+target+` AND row = ? AND item = ?`, "names", row, item)
}

func (e *embedded) changeClaim(row, item, attribute, text string) {
	e.exec(`UPDATE "_tws_claims" SET attributes = json_set(attributes, '$.' || ?, json_object('S', ?)) WHERE target = `+target+` AND row = ? AND item = ?`,
		attribute, text, "names", row, item)
}

func (e *embedded) copyClaim(row, from, to string) {
	e.exec(`INSERT INTO "_tws_claims" SELECT target, row, ?, version, time, attributes FROM "_tws_claims" WHERE target = `+target+` AND row = ? AND item = ?`, to, "names", row, from)
}

func (e *embedded) setOwner(row, item string) {
	e.exec(`UPDATE "_tws_seats" SET holder = ? WHERE target = `+target+` AND row = ?`, item, "names", row)
}

func (e *embedded) removeShares(sink, item string) {
	e.exec(`DELETE FROM "_tws_contributions" WHERE target = `+target+` AND item = ?`, sink, item)
}

func (e *embedded) copyShares(sink, from, to string) {
	e.exec(`INSERT INTO "_tws_contributions" SELECT target, ?, version, void, shares, written FROM "_tws_contributions" WHERE target = `+target+` AND item = ?
		ON CONFLICT DO UPDATE SET shares = excluded.shares`, to, sink, from)
}

func (e *embedded) changeSum(pk, sk string, by int) {
	e.exec(`UPDATE "_tws_groups" SET totals = json_set(totals, '$[#-1].text', CAST(json_extract(totals, '$[#-1].text') + ? AS TEXT)) WHERE row = ?`, by, rowPlace(pk, sk))
	e.exec(`UPDATE "_tw_views" SET item = json_set(item, '$.value.N', CAST(json_extract(item, '$.value.N') + ? AS TEXT)) WHERE pk = ? AND sk = ?`, by, pk, sk)
}

func (e *embedded) changeShareCount(pk, sk string) {
	e.exec(`UPDATE "_tws_groups" SET shares = shares + 1 WHERE row = ?`, rowPlace(pk, sk))
}

func (e *embedded) removeMember(pk, sk, value, item string) {
	e.exec(`DELETE FROM "_tws_members" WHERE "group" = (SELECT id FROM "_tws_groups" WHERE row = ?) AND name = ? AND id = ?`, rowPlace(pk, sk), value, item)
}

func (e *embedded) copyMember(pk, sk, value, from, to string) {
	e.exec(`INSERT INTO "_tws_members" SELECT "group", name, value, ? FROM "_tws_members" WHERE "group" = (SELECT id FROM "_tws_groups" WHERE row = ?) AND name = ? AND id = ?`,
		to, rowPlace(pk, sk), value, from)
}

func (e *embedded) removeDocument(index, id string) {
	e.exec(`DELETE FROM "_tws_documents" WHERE doc = `+document, e.index+index, id)
}

func (e *embedded) changeDocument(index, id, field, text string) {
	e.exec(`UPDATE "_tws_documents" SET source = json_set(source, '$.' || ?, ?) WHERE doc = `+document, field, text, e.index+index, id)
}

func (e *embedded) copyDocument(index, id, to string) {
	e.exec(`INSERT INTO "_tws_documents" ("index", id, routing, version, void, birth, entries, source) SELECT "index", ?, routing, version, void, birth, x'', source
		FROM "_tws_documents" WHERE doc = `+document, to, e.index+index, id)
}

func (e *embedded) buryDocument(index, id, version string) {
	e.exec(`UPDATE "_tws_documents" SET source = NULL, version = ? WHERE doc = `+document, version, e.index+index, id)
}

func (e *embedded) setDocumentBirth(index, id string) {
	e.exec(`UPDATE "_tws_documents" SET birth = 'another', source = json_set(source, '$._tw.birth', 'another') WHERE doc = `+document, e.index+index, id)
}

// read returns the contents that readers find in the file.
func (e *embedded) read() contents {
	e.open()
	defer e.db.Close()
	c := make(contents)
	e.query(`SELECT pk, sk, item FROM "_tw_views" WHERE item IS NOT NULL`, func(pk, sk string, b []byte) {
		var image map[string]map[string]string
		if err := json.Unmarshal(b, &image); err != nil {
			e.t.Fatal(err)
		}
		attributes := make(map[string]string)
		for name, typed := range image {
			for _, v := range typed {
				attributes[name] = v
			}
		}
		delete(attributes, "PK")
		delete(attributes, "SK")
		c.add(pk, sk, attributes)
	})
	e.query(`SELECT substr(i.name, ?), d.id, d.source FROM "_tws_documents" d JOIN "_tws_indexes" i ON i.id = d."index" WHERE d.source IS NOT NULL`, c.document, len(e.index)+1)
	return c
}

func (e *embedded) query(q string, do func(a, b string, c []byte), args ...any) {
	rows, err := e.db.QueryContext(e.t.Context(), q, args...)
	if err != nil {
		e.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b string
		var c []byte
		if err := rows.Scan(&a, &b, &c); err != nil {
			e.t.Fatal(err)
		}
		do(a, b, c)
	}
	if err := rows.Err(); err != nil {
		e.t.Fatal(err)
	}
}

// folder is a pipeline in a --local folder.
type folder struct {
	*embedded
	dir, config string
	env, files  []string
	more        []string // more flags of its audits and repairs
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	dir := t.TempDir()
	return &folder{
		embedded: &embedded{t: t, path: filepath.Join(dir, "out", "views.db"), index: "index-"}, dir: dir,
		config: save(t, filepath.Join(dir, "tablewake.yaml"), []byte(file)),
		env:    []string{"NAME=shop", "VIEWS=views", "STATE=state", "INDEX=index", "OS_URL=http://localhost:1"},
	}
}

// putItems does nothing, because audits of a folder compare with the records and not with a table.
func (f *folder) putItems(*testing.T, *table) {}

// replay writes records into the folder.
func (f *folder) replay(t *testing.T, name string, records []byte) {
	t.Helper()
	path := save(t, f.path(name), records)
	f.files = append(f.files, path)
	c := commandLine{f.env, []string{"replay", "-c", f.config, "--local", f.path("out"), path}}
	c.run(t, 0)
}

func (f *folder) command(flags ...string) *commandLine {
	args := []string{"audit", "-c", f.config, "--local", f.path("out")}
	return &commandLine{f.env, slices.Concat(args, flags, f.more, f.files)}
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }
func (f *folder) prefix() string          { return f.index }
func (f *folder) flags(more ...string)    { f.more = more }
