package athena_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/athena"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// memory is a store that keeps objects in memory.
type memory map[string][]byte

var _ archive.Lister = memory{}

func (m memory) Put(_ context.Context, o archive.Object) error {
	if _, ok := m[o.Name]; ok {
		return archive.ErrExists
	}
	m[o.Name] = bytes.Clone(o.Body)
	return nil
}

func (m memory) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m[name])), nil
}

func (m memory) List(_ context.Context, prefix string) iter.Seq2[archive.Info, error] {
	return func(yield func(archive.Info, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if strings.HasPrefix(name, prefix) && !yield(archive.Info{Name: name}, nil) {
				return
			}
		}
	}
}

// batches cuts changes into batches of random size. A batch can repeat the last changes of the batch before.
func batches(t *rapid.T, changes []*record.Change) (bs [][]*record.Change) {
	for i := 0; i < len(changes); {
		n := min(len(changes), i+rapid.IntRange(1, 10).Draw(t, "batch"))
		bs = append(bs, changes[max(0, i-rapid.IntRange(0, 4).Draw(t, "again")):n])
		i = n
	}
	return bs
}

// written returns a store to which an archive sink has written the batches bs.
func written(t testing.TB, o archive.Options, bs ...[]*record.Change) memory {
	store := memory{}
	o.Store = store
	s, err := archive.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bs {
		var ds []pipeline.Delivery
		for _, c := range b {
			d := pipeline.Delivery{Change: c}
			if err := s.Plan(&d); err != nil {
				t.Fatal(err)
			}
			ds = append(ds, d)
		}
		if err := s.Write(t.Context(), ds); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func columns(t testing.TB) []archive.Column {
	return []archive.Column{{Name: "status", Value: parse(t, "{Status?}")}, {Name: "n", Value: parse(t, "{Rank}")}, {Name: "group", Value: parse(t, "x{Type}")}}
}

// The DDL has the same columns as the objects, with the same names and types and in the same order.
func TestDDLIsOfTheObjectsSchema(t *testing.T) {
	stream, err := sinktest.Build(sinktest.Record{EventName: "INSERT", Second: 1767323045, New: sinktest.Item{"PK": {"S": "a"}, "SK": {"S": "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	a := athena.Archive{Sink: "a", Location: "s3://b/p/", Options: archive.Options{Format: archive.Parquet, Columns: columns(t)}}
	store := written(t, archive.Options{Format: a.Format, Columns: a.Columns}, stream.Changes)
	object := store[slices.Collect(maps.Keys(store))[0]]
	f, err := parquet.OpenFile(bytes.NewReader(object), int64(len(object)))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, field := range f.Schema().Fields() {
		if !field.Leaf() || field.Repeated() {
			t.Errorf("%s is no column of values", field.Name())
		}
		want = append(want, field.Name()+" "+hiveType(t, field.Type()))
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^  `([a-z0-9_]+)` ([a-z]+),?$").FindAllStringSubmatch(statements(t, a)[0].SQL, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the DDL has\n%q, the objects\n%q", got, want)
	}
}

// hiveType returns the type of Hive for a type of Parquet.
func hiveType(t *testing.T, p parquet.Type) string {
	switch logical := fmt.Sprint(p.LogicalType()); {
	case p.Kind() == parquet.ByteArray && p.String() == "STRING":
		return "string"
	case p.Kind() == parquet.Int64 && strings.Contains(p.String(), "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)"):
		return "timestamp"
	case p.Kind() == parquet.Int64 && strings.HasPrefix(p.String(), "INT(64,true"):
		return "bigint"
	default:
		t.Errorf("no type of Hive for %s (%s, %s)", p, p.Kind(), logical)
		return ""
	}
}

// projection has the table properties that Athena uses for partition projection.
type projection map[string]string

func propertiesOf(sql string) projection {
	p := make(projection)
	_, behind, _ := strings.Cut(sql, "TBLPROPERTIES")
	for _, m := range regexp.MustCompile(`'((?:\\.|[^'\\])*)' = '((?:\\.|[^'\\])*)'`).FindAllStringSubmatch(behind, -1) {
		p[unescaped(m[1])] = unescaped(m[2])
	}
	return p
}

func unescaped(s string) string { return regexp.MustCompile(`\\(.)`).ReplaceAllString(s, "$1") }

var placeholder = regexp.MustCompile(`\\\$\\\{([a-z0-9_]+)\\\}`) // in the output of QuoteMeta

// leadsTo returns the values of the partition columns with which the projection reaches a folder, or an error if the
// projection does not reach the folder.
func (p projection) leadsTo(folder string) (values map[string]string, err error) {
	template := p["storage.location.template"]
	var names []string
	pattern := placeholder.ReplaceAllStringFunc(regexp.QuoteMeta(template), func(s string) string {
		names = append(names, placeholder.FindStringSubmatch(s)[1])
		return "([^/]*)"
	})
	m := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(folder)
	if m == nil {
		return nil, fmt.Errorf("%s is not a folder of %s", folder, template)
	}
	values = make(map[string]string)
	for i, name := range names {
		values[name] = m[i+1]
		if err := p.takes(name, m[i+1]); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
	}
	return values, nil
}

// takes returns an error if the projection of a column does not have a value.
func (p projection) takes(name, value string) error {
	of := func(key string) string { return p["projection."+name+"."+key] }
	from, to, _ := strings.Cut(of("range"), ",")
	switch of("type") {
	case "injected":
		return nil
	case "enum":
		if slices.Contains(strings.Split(of("values"), ","), value) {
			return nil
		}
	case "integer":
		n, err := strconv.Atoi(value)
		least, _ := strconv.Atoi(from)
		most, _ := strconv.Atoi(to)
		if err == nil && least <= n && n <= most && strconv.Itoa(len(value)) == of("digits") {
			return nil
		}
	case "date":
		layout := goLayout(of("format"))
		at, err := time.Parse(layout, value)
		first, firstErr := time.Parse(layout, from)
		if err == nil && firstErr == nil && !at.Before(first) && to == "NOW+1DAYS" && at.Format(layout) == value {
			return nil
		}
	}
	return fmt.Errorf("the projection of %s (%s) does not come to %q", name, of("type"), value)
}

// goLayout translates a pattern of java.time.format.DateTimeFormatter to a layout of package time.
func goLayout(pattern string) string {
	var b strings.Builder
	for i, part := range strings.Split(pattern, "'") {
		if i%2 == 1 {
			b.WriteString(part)
			continue
		}
		b.WriteString(strings.NewReplacer("yyyy", "2006", "MM", "01", "dd", "02", "HH", "15", "mm", "04", "ss", "05").Replace(part))
	}
	return b.String()
}

// The projection reaches the folders of all changes, and a folder's day is the day of the changes in the folder.
func TestFoldersAreProjected(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{})
	for _, src := range []string{
		"dt={@time|date:2006-01-02}", "dt={@time|date:2006-01-02}/hour={@time|date:15}", "{@time|date:2006/01/02}", "y={@time|date:2006}/m={@time|date:01}",
		"{@time|date:2006-01}-{@op}", "{@table}/{@time|date:15:04}", "at={@time|date:2006-01-02T15:04:05}", "type={Type}/s={Status|lower}/dt={@time|date:20060102}",
	} {
		partition := parse(t, src)
		p := propertiesOf(statements(t, athena.Archive{Sink: "a", Location: "s3://b/p/", Tables: []string{sinktest.Table}, Options: archive.Options{Format: archive.Parquet, Partition: partition}})[0].SQL)
		rapid.Check(t, func(rt *rapid.T) {
			stream := streams.Draw(rt, "stream")
			store := written(t, archive.Options{Format: archive.Parquet, Prefix: "p/", Partition: partition}, batches(rt, stream.Changes)...)
			for name := range store {
				values, err := p.leadsTo("s3://b/" + name[:strings.LastIndexByte(name, '/')+1])
				if err != nil {
					rt.Fatal(err)
				}
				for e, err := range archive.Read(t.Context(), memory{name: store[name]}, archive.ReadOptions{}) {
					if err != nil {
						rt.Fatal(err)
					}
					if at, ok := values["dt"]; ok && !strings.Contains(e.Change.Time.Format("2006-01-02 20060102"), at) {
						rt.Fatalf("a change of %v is in %s", e.Change.Time, name)
					}
				}
			}
		})
	}
}

// If objects repeat changes, the view a__once still has each version of an item once, and the view a__current has the
// current items. The test runs the SQL of the views in SQLite on the rows of the objects.
func TestViews(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{Snapshots: true})
	a := athena.Archive{Sink: "a", Location: "s3://b/p/", Options: archive.Options{Format: archive.Parquet, Columns: columns(t)}}
	rapid.Check(t, func(rt *rapid.T) {
		stream := streams.Draw(rt, "stream")
		store := written(t, archive.Options{Format: archive.Parquet, Columns: a.Columns}, batches(rt, stream.Changes)...)
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			rt.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		load(rt, db, store)
		for _, s := range statements(t, a)[1:] {
			if _, err := db.Exec(strings.Replace(s.SQL, "CREATE OR REPLACE VIEW", "CREATE VIEW", 1)); err != nil {
				rt.Fatal(err)
			}
		}
		once, current := make(map[string]int), make(map[string]string)
		for _, c := range stream.Changes {
			once[fmt.Sprintf("%s at %s", c.Key, c.Version)] = 1
			delete(current, string(c.Key))
			if !c.Removed() {
				current[string(c.Key)] = string(c.New.AppendDynamoDBJSON(nil))
			}
		}
		got := make(map[string]int)
		query(rt, db, `SELECT "key", "version" FROM "a__once"`, func(k, v string) { got[k+" at "+v]++ })
		if !maps.Equal(got, once) {
			rt.Fatalf("a__once gives %v, want %v", got, once)
		}
		now := make(map[string]string)
		query(rt, db, `SELECT "key", "new" FROM "a__current"`, func(k, v string) { now[k] = v })
		if !maps.Equal(now, current) {
			rt.Fatalf("a__current gives %v, want %v", now, current)
		}
	})
}

func query(t *rapid.T, db *sql.DB, q string, row func(a, b string)) {
	rows, err := db.Query(q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b string
		if err := rows.Scan(&a, &b); err != nil {
			t.Fatal(err)
		}
		row(a, b)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// load creates the table a and inserts the rows of all objects.
func load(t *rapid.T, db *sql.DB, store memory) {
	for i, name := range slices.Sorted(maps.Keys(store)) {
		f, err := parquet.OpenFile(bytes.NewReader(store[name]), int64(len(store[name])))
		if err != nil {
			t.Fatal(err)
		}
		var columns, marks []string
		for _, c := range f.Schema().Columns() {
			columns, marks = append(columns, `"`+c[0]+`"`), append(marks, "?")
		}
		if i == 0 {
			if _, err := db.Exec(`CREATE TABLE "a" (` + strings.Join(columns, ", ") + ")"); err != nil {
				t.Fatal(err)
			}
		}
		insert := fmt.Sprintf(`INSERT INTO "a" (%s) VALUES (%s)`, strings.Join(columns, ", "), strings.Join(marks, ", "))
		for _, g := range f.RowGroups() {
			rows := g.Rows()
			buf := make([]parquet.Row, g.NumRows())
			if _, err := rows.ReadRows(buf); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			for _, row := range buf {
				args := make([]any, len(row))
				for i, v := range row {
					if !v.IsNull() {
						args[i] = v.String()
					}
				}
				if _, err := db.Exec(insert, args...); err != nil {
					t.Fatal(err)
				}
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
