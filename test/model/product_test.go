package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/notify/jsonl"
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/sinks/view/sqlite"
	"github.com/tablewake/tablewake/test/model"
)

// product is the product under test. Its embedded stores are in a folder.
type product struct {
	tb  *rapid.T
	ctx context.Context
	cfg model.Config
	dir string

	forget bool // whether a run ignores the settings under which the stores were written
}

func newProduct(ctx context.Context, t *rapid.T, parent string, cfg model.Config) product {
	dir, err := os.MkdirTemp(parent, "run-")
	if err != nil {
		t.Fatal(err)
	}
	return product{tb: t, ctx: ctx, cfg: cfg, dir: dir}
}

func (p product) close() { _ = os.RemoveAll(p.dir) }

func (p product) must(err error) {
	if err != nil {
		p.tb.Helper()
		p.tb.Fatalf("%v\n%s", err, p.cfg.YAML())
	}
}

// run runs one process, which delivers the records in pages of n and ends. All records of a key are in one partition.
func (p product) run(records []sinktest.Record, page, partitions int) pipeline.Ledger {
	p.tb.Helper()
	cfg, err := config.Parse("tablewake.yaml", []byte(p.cfg.YAML()), func(string) (string, bool) { return "", false })
	p.must(err)
	stores, err := local.Open(p.dir)
	p.must(err)
	of := sinks.Stores(stores)
	if p.forget {
		of = forgetful{stores}
	}
	pipe, err := sinks.Assemble(p.ctx, cfg, of, sinks.Finite())
	if err != nil {
		p.must(errors.Join(err, stores.Close()))
	}
	p.must(errors.Join(pipe.Run(p.ctx, pages(records, page, partitions), nil), stores.Close()))
	l := pipe.Ledger()
	p.must(l.Check())
	return l
}

// pages returns a source that shows records as a stream does.
func pages(records []sinktest.Record, size, partitions int) pipeline.Source {
	lanes := make([][][]byte, partitions)
	var turns []int
	for _, r := range records {
		h := fnv.New32a()
		_, _ = io.WriteString(h, model.CanonicalKey(r.Keys))
		i := int(h.Sum32()) % partitions
		if i < 0 {
			i += partitions
		}
		if n := len(lanes[i]); n == 0 || bytes.Count(lanes[i][n-1], []byte("\n")) >= size {
			lanes[i] = append(lanes[i], nil)
			turns = append(turns, i)
		}
		last := &lanes[i][len(lanes[i])-1]
		*last = append(append(*last, r.JSON()...), '\n')
	}
	decoder := record.NewDecoder(record.DecoderOptions{})
	read := make([]int, partitions)
	return pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if len(turns) == 0 {
			return nil, io.EOF
		}
		i := turns[0]
		turns = turns[1:]
		lines := lanes[i][read[i]]
		read[i]++
		return &pipeline.Page{
			Partition: fmt.Sprint(i), Position: pipeline.Position(fmt.Sprint(read[i])), End: read[i] == len(lanes[i]),
			Page:   record.Page{Bytes: len(lines)},
			Decode: func() (*record.Page, error) { return decoder.DecodeLines(lines), nil },
		}, nil
	})
}

// look returns the content of every store.
func (p product) look() model.Held {
	p.tb.Helper()
	h := model.NewHeld()
	dir := local.Dir(p.dir)
	for _, s := range p.cfg.Sinks {
		switch {
		case s.Search != nil:
			p.documents(h, dir, s.Search.Index)
		case s.Archive != nil:
			p.archived(h, dir, s.Archive.Bucket)
		case s.Notify != nil:
			p.events(h, dir, s.Name)
		}
	}
	p.rows(h, dir)
	dead, err := deaddir.New(deaddir.Options{Dir: dir.DeadLetters()})
	p.must(err)
	defer dead.Close()
	for l, err := range dead.Read(p.ctx) {
		p.must(err)
		h.Letters[model.LetterName(l.Sink, string(l.Key), l.Version.String())] = l.Error
	}
	return h
}

// rows reads the tables and merges the shards of each aggregate.
func (p product) rows(h model.Held, dir local.Dir) {
	if _, err := os.Stat(dir.Views()); errors.Is(err, os.ErrNotExist) {
		return
	}
	db, err := sqlite.Open(p.ctx, dir.Views(), sqlite.Options{ReadOnly: true})
	p.must(err)
	defer db.Close()
	tables, err := db.Tables(p.ctx)
	p.must(err)
	for _, t := range tables {
		bySink := map[string][]sinktest.Item{}
		for row, err := range db.Rows(p.ctx, t, view.Query{}) {
			p.must(err)
			it := sinktest.Item{}
			p.must(it.Decode(row.Item.AppendDynamoDBJSON(nil)))
			bySink[row.View] = append(bySink[row.View], it)
		}
		for sink, rows := range bySink {
			for _, s := range p.cfg.Sinks {
				if s.Name == sink && s.Aggregate != nil {
					rows, err = s.Aggregate.Merge(rows)
					p.must(err)
				}
			}
			for _, row := range rows {
				h.Rows[model.RowName(t.Name, row)] = sinktest.Canonical(row)
			}
		}
	}
}

func (p product) documents(h model.Held, dir local.Dir, index string) {
	store, err := searchsqlite.OpenReader(p.ctx, dir.Views())
	p.must(err)
	defer store.Close()
	for d, err := range store.Documents(p.ctx, index) {
		p.must(err)
		doc := p.decode(d.Doc)
		if own, ok := doc["_tw"].(map[string]any); ok {
			delete(own, "birth") // which is random
		}
		h.Documents[index+" "+d.ID] = model.DocumentText(doc)
	}
}

func (p product) archived(h model.Held, dir local.Dir, bucket string) {
	store, err := archivedir.New(archivedir.Options{Dir: dir.Archive(bucket)})
	p.must(err)
	for e, err := range archive.Read(p.ctx, store, archive.ReadOptions{}) {
		p.must(err)
		var r struct {
			EventName string
			Dynamodb  struct{ Keys, OldImage, NewImage sinktest.Item }
		}
		p.must(json.Unmarshal(e.Line, &r))
		h.Archived[model.ChangeName(bucket, string(e.Key), e.Version.String())] =
			model.ChangeText(r.EventName, r.Dynamodb.Keys, r.Dynamodb.OldImage, r.Dynamodb.NewImage)
	}
}

// events reads the published events by id. Copies with the same id are one event.
func (p product) events(h model.Held, dir local.Dir, sink string) {
	ids := map[string]string{}
	for line, err := range jsonl.Read(dir.Events(sink)) {
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		p.must(err)
		var e struct {
			ID, Subject, Sequence string
			Data                  struct {
				Detector string
				Old, New json.RawMessage
			}
		}
		p.must(json.Unmarshal(line, &e))
		name := model.EventName(sink, e.Data.Detector, e.Subject, e.Sequence)
		if was, ok := ids[e.ID]; ok && was != name {
			p.tb.Fatalf("the events %s and %s have one id, %s", was, name, e.ID)
		}
		ids[e.ID] = name
		h.Events[name] = "old " + orNothing(e.Data.Old) + " new " + orNothing(e.Data.New)
	}
}

func orNothing(b json.RawMessage) string {
	if b == nil {
		return "nothing"
	}
	return string(b)
}

func (p product) decode(b []byte) map[string]any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var doc map[string]any
	p.must(d.Decode(&doc))
	return doc
}

// want compares the whole state with the result of the model for the records.
func (p product) want(after string, records []sinktest.Record) {
	p.tb.Helper()
	want := p.cfg.Run(records)
	p.same(after, want, p.look(), records)
}

// wantStores does what want does, but ignores dead letters.
func (p product) wantStores(after string, records []sinktest.Record) {
	p.tb.Helper()
	want, held := p.cfg.Run(records), p.look()
	want.Letters, held.Letters = nil, nil
	p.same(after, want, held, records)
}

func (p product) same(after string, want model.State, held model.Held, records []sinktest.Record) {
	p.tb.Helper()
	if diff := want.Differences(held); diff != "" {
		p.tb.Fatalf("after %s:\n%s\n\nthe configuration:\n%s\nthe records:\n%s", after, diff, p.cfg.YAML(), describe(records))
	}
}

// wantCollisions compares the dead letters of items that wait for their rows with those of the model, after every
// record was delivered again.
func (p product) wantCollisions(records []sinktest.Record) {
	p.tb.Helper()
	held := p.look()
	for _, s := range p.cfg.Sinks {
		for _, name := range s.Collisions(p.cfg.Filters, records) {
			if _, ok := held.Letters[name]; !ok {
				p.tb.Fatalf("dead letter %s is missing: the item waits for its row\n\nthe configuration:\n%s\nthe records:\n%s", name, p.cfg.YAML(), describe(records))
			}
		}
	}
}

func describe(records []sinktest.Record) string {
	var b bytes.Buffer
	for _, r := range records {
		fmt.Fprintf(&b, "%s ttl=%v %s\n  old %s\n  new %s\n", r.EventName, r.TTL, r.Sequence, sinktest.Canonical(r.Old), sinktest.Canonical(r.New))
	}
	return b.String()
}

// counted compares the ledgers of a run with the model's counts of its records.
func (p product) counted(l pipeline.Ledger, records []sinktest.Record) {
	p.tb.Helper()
	want := p.cfg.Run(records)
	var wrong []string
	same := func(what string, got, want any) {
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			wrong = append(wrong, fmt.Sprintf("%s (-want +got):\n%s", what, diff))
		}
	}
	s := l.Source
	same("source", model.Source{Read: s.Read, Routed: s.Routed, Unrouted: s.Unrouted, Filtered: s.Filtered}, want.Source)
	for name, w := range want.Counts {
		k := l.Sinks[name]
		idle := int64(0)
		for _, n := range k.NoEffect {
			idle += n
		}
		got := model.Count{Routed: k.Routed, Failed: k.DeadLettered, Collide: w.Collide, ByState: w.ByState, Idle: idle, Dropped: k.RouteFiltered}
		if w.Collide && got.Failed > w.Failed {
			got.Failed = w.Failed
		}
		if w.ByState {
			got.Idle = w.Idle
		}
		same(name, got, *w)
		same(name+" pending", k.Pending, int64(0))
	}
	if wrong != nil {
		p.tb.Fatalf("the ledgers are wrong:\n%s\nthe configuration:\n%s\nthe records:\n%s", strings.Join(wrong, "\n"), p.cfg.YAML(), describe(records))
	}
}

// check checks a property on random configurations and streams, in parallel with other tests.
func check(t *testing.T, property func(t *rapid.T, p product, s model.Stream)) {
	t.Helper()
	t.Parallel()
	checkRound(t, property)
}

// checkRound checks a property on random configurations and streams. A test can call it more than once.
func checkRound(t *testing.T, property func(t *rapid.T, p product, s model.Stream)) {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SampledFrom(model.Schemas).Draw(rt, "keys")
		p := newProduct(ctx, rt, dir, model.Configs(keys).Draw(rt, "configuration"))
		defer p.close()
		property(rt, p, model.Streams(keys, 30).Draw(rt, "stream"))
	})
}
