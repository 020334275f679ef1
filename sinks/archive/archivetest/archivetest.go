// Package archivetest is the conformance suite of an archive's stores. It runs the suite of sinks with every layout and
// format of an archive, and reads each archive with [archive.Read].
package archivetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// Store is a store under test.
type Store struct {
	// Open opens the store in a folder, which may have content of an earlier Open. The store must be an
	// archive.Replacer.
	Open   func(dir string) (archive.Lister, error)
	Checks int // number of random checks; see sinktest.Suite.Checks

	// Only has the names of the archives to run, for slow stores. The other archives write other objects, but make the
	// same calls of a store. Default: all archives.
	Only []string
}

// Run checks the store.
func Run(t *testing.T, store Store) {
	parse := func(src string) *template.Template {
		tmpl, err := template.Parse(src, template.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return tmpl
	}
	byDay := parse("dt={CreatedAt|date:2006-01-02}")
	deletes := []archive.Kind{archive.UserDelete, archive.TTLDelete}
	typeTag := []archive.TagTemplate{{Key: "type", Value: parse("{Type}")}}
	for name, tt := range map[string]struct {
		o         archive.Options
		snapshots bool              // the stream has snapshots
		keys      map[string]string // types of the key attributes. Default: texts
	}{
		"Log":      {o: archive.Options{Prefix: "changes/", Partition: byDay}, snapshots: true},
		"LogGzip":  {o: archive.Options{Format: archive.JSONLGzip}},
		"LogPlain": {o: archive.Options{Images: archive.PlainJSON}},
		"Parquet": {o: archive.Options{Format: archive.Parquet, Partition: byDay,
			Columns: []archive.Column{{Name: "status", Value: parse("{Status?}")}}},
			snapshots: true, keys: map[string]string{"PK": "B", "SK": "N"}},
		"ParquetPlain": {o: archive.Options{Format: archive.Parquet, Images: archive.PlainJSON}},
		"PerItem": {o: archive.Options{Layout: archive.PerItem, Kinds: deletes, Tags: typeTag,
			Key: parse("archive/{Type}/{PK}/{SK}/{@version}.json")}, keys: map[string]string{"PK": "B", "SK": "N"}},
		"Newest": {o: archive.Options{Layout: archive.PerItem, RawNames: true, Tags: typeTag,
			Key: parse("archive/{PK}/{SK}.json")}, keys: map[string]string{"PK": "N", "SK": "N"}},
		"NewestPlain": {o: archive.Options{Layout: archive.PerItem, Images: archive.PlainJSON, Kinds: deletes,
			Key: parse("{@key}.json")}},
		"PerItemPlain": {o: archive.Options{Layout: archive.PerItem, Images: archive.PlainJSON,
			Key: parse("{@key}/{@version}")}},
	} {
		if len(store.Only) > 0 && !slices.Contains(store.Only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := suite(store, tt.o)
			s.Stream.Snapshots, s.Stream.Keys = tt.snapshots, tt.keys
			sinktest.Run(t, s)
		})
	}
}

// suite returns the suite of an archive.
func suite(tested Store, o archive.Options) sinktest.Suite {
	return sinktest.Suite{
		Checks: tested.Checks,
		Open: func(path string) (sinktest.Store, error) {
			store, err := tested.Open(path)
			if err != nil {
				return sinktest.Store{}, err
			}
			return sinktest.Store{
				Sink: func(f *sinktest.Faults) (pipeline.Sink, error) {
					o := o
					o.Store = faulty{store.(archive.Replacer), store, f}
					return archive.New(o)
				},
				State: func() (map[string]string, error) { return state(store, o.Images) },
			}, nil
		},
		Model: func(s *sinktest.Stream) map[string]string { return model(s, o) },
	}
}

// model returns the expected state of an archive. Without a version in its key, it has only the newest change of each
// item.
func model(s *sinktest.Stream, o archive.Options) map[string]string {
	newestOnly := o.Key != nil && !o.Key.HasVersion()
	newest := make(map[item.Key]record.Version)
	want := make(map[string]string)
	for i, r := range s.Records {
		c := s.Changes[i]
		isKept := len(o.Kinds) == 0 || r.Removed()
		isOlder := newestOnly && c.Version.Compare(newest[c.Key]) <= 0
		if !isKept || isOlder {
			continue
		}
		if newestOnly {
			delete(want, changeName(c.Key, newest[c.Key]))
			newest[c.Key] = c.Version
		}
		want[changeName(c.Key, c.Version)] = recordText(r, o.Images)
	}
	return want
}

func changeName(k item.Key, v record.Version) string { return fmt.Sprintf("%s at %s", k, v) }

// recordText returns the expected content of an archived record.
func recordText(r sinktest.Record, images archive.LineFormat) string {
	if images == archive.PlainJSON {
		return fmt.Sprintf("%s %v %v %v", r.EventName, r.TTL, r.Old != nil, r.New != nil)
	}
	return fmt.Sprintf("%s %v %d %s %s", r.EventName, r.TTL, r.Second, sinktest.Canonical(r.Old),
		sinktest.Canonical(r.New))
}

// state returns every archived change. It returns an error if a change is read twice, or in the wrong order.
func state(store archive.Lister, images archive.LineFormat) (map[string]string, error) {
	got := make(map[string]string)
	var last archive.Entry
	for e, err := range archive.Read(context.Background(), store, archive.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		if _, twice := got[changeName(e.Key, e.Version)]; twice {
			return nil, fmt.Errorf("%s comes twice", changeName(e.Key, e.Version))
		}
		isAfter := e.Key > last.Key || e.Key == last.Key && e.Version.Compare(last.Version) > 0
		if !isAfter {
			return nil, fmt.Errorf("%s comes after %s", changeName(e.Key, e.Version), changeName(last.Key, last.Version))
		}
		last = e
		text, err := entryText(e, images)
		if err != nil {
			return nil, err
		}
		got[changeName(e.Key, e.Version)] = text
	}
	return got, nil
}

// entryText returns the content of an entry, in the form of recordText.
func entryText(e archive.Entry, images archive.LineFormat) (string, error) {
	if images == archive.PlainJSON {
		return plainText(e)
	}
	c := e.Change
	oldText, oldErr := imageText(c.Old)
	newText, newErr := imageText(c.New)
	text := fmt.Sprintf("%s %v %d %s %s", c.EventName, c.TTLDelete(), max(c.Time.Unix(), 0), oldText, newText)
	return text, cmp.Or(oldErr, newErr)
}

// imageText returns the canonical text of an image.
func imageText(m item.Image) (string, error) {
	if !m.Exists() {
		return sinktest.Canonical(sinktest.Item(nil)), nil
	}
	return sinktest.CanonicalJSON(m.AppendDynamoDBJSON(nil))
}

func plainText(e archive.Entry) (string, error) {
	line := string(e.Line)
	op := "EVOLVE"
	for _, known := range []string{"INSERT", "MODIFY", "REMOVE"} {
		if strings.Contains(line, `,"op":"`+known+`"`) {
			op = known
		}
	}
	return fmt.Sprintf("%s %v %v %v", op, strings.Contains(line, `,"kind":"ttl_delete"`),
		strings.Contains(line, `,"old":{`), strings.Contains(line, `,"new":{`)), nil
}

// faulty is a store whose calls may fail.
type faulty struct {
	archive.Replacer
	archive.Store
	faults *sinktest.Faults
}

func (s faulty) Replace(ctx context.Context, o archive.Object, stored archive.Stored) error {
	return s.faults.Call(1, func(int) error { return s.Replacer.Replace(ctx, o, stored) })
}

func (s faulty) Put(ctx context.Context, o archive.Object) error {
	return s.faults.Call(1, func(int) error { return s.Store.Put(ctx, o) })
}
