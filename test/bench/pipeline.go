package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
)

// pipelineRows measure whole pipelines whose stores only count.
func pipelineRows() []row {
	r := row{
		id:   "pipeline",
		work: "a whole pipeline over GetRecords answers: drop TTL deletes, look for one transition, and plan and write a view, search documents and an archive",
		peer: "decoding the same answers alone",
		note: "stores that only count; of the archive its planner, as what its objects cost is their compression; memory is collected as the commands have it, on both sides",
		of:   rate, least: 0.35, allocs: new(2.0), input: true,
		missed: "decoding is a third of a record's time here, planning its document, its row and its place in the archive another, queues and writes the last: the faster the decoder, the less room for them",
	}
	return shaped(r, openPipeline)
}

func openPipeline(ctx context.Context, b *bench, s *shape) (*contest, error) {
	bodies, records := s.pages(8)
	w, err := newWhole(ctx, s, bodies)
	if err != nil {
		return nil, err
	}
	alone := func(context.Context) (n int, err error) {
		for _, body := range bodies {
			page, err := w.decode(body)
			if err != nil {
				return n, err
			}
			n += len(page.Changes)
		}
		return n, nil
	}
	c, err := agree(ctx, b, records, w.run, alone)
	if err == nil {
		c.close = collectAsCommands()
	}
	return c, err
}

// collectAsCommands makes the garbage collector run as in the commands, until the row is closed.
func collectAsCommands() (undo func() error) {
	room := make([]byte, 8<<20)
	return func() error {
		runtime.KeepAlive(room)
		return nil
	}
}

// whole is a pipeline with one filter, one transition and three sinks. It reads answers that are in memory.
type whole struct {
	decoder  *record.Decoder
	bodies   [][]byte
	pipeline *pipeline.Pipeline
	counts   *counts
	before   pipeline.Ledger
	usual    bool // the records are those of usual, so that the result of each record is known

	passes int      // number of passes over bodies. 0: 1
	shards []string // shards of the pages, in turns
	fresh  bool     // each page is in its own memory, like a page that was read over a network
}

// newWhole makes the pipeline of a file as users write it. The rows use attributes of the records.
func newWhole(ctx context.Context, s *shape, bodies [][]byte) (*whole, error) {
	names, err := scalars(s.at(0))
	if err != nil {
		return nil, err
	}
	text := `version: 1
name: bench
source: {table: bench}
state: {table: bench-state}
connections: {os: {opensearch: 'https://localhost:9200', auth: sigv4}}
filters: [{drop: ttl_deletes}]
detect:
  completed: {attribute: Status, to: completed}
sinks:
  rows: {view: {table: views, key: {PK: 'BY#{` + names[0] + `}', SK: '{@key}'}, attributes: {`
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("a%d: '{%s}'", i, name)
	}
	text += `}}}
  documents: {search: {connection: os, index: documents}}
  history: {custom: {name: history}}
`
	return newWholeOf(ctx, text, s, bodies)
}

// newWholeOf makes the pipeline of a configuration.
func newWholeOf(ctx context.Context, text string, s *shape, bodies [][]byte) (*whole, error) {
	cfg, err := config.Parse("bench.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	w := &whole{
		decoder: record.NewDecoder(record.DecoderOptions{Table: "bench", StreamARN: streamARN}),
		bodies:  bodies, counts: &counts{}, usual: s.name == "usual",
		shards: []string{"shard"},
	}
	w.pipeline, err = sinks.Assemble(ctx, cfg, w.counts, sinks.Finite(), sinks.With("history", w.counts.history))
	return w, err
}

// scalars returns paths of up to three attributes that are not keys and hold a single value.
func scalars(r savedRecord) ([]string, error) {
	it, err := item.Parse([]byte(r.image()))
	if err != nil {
		return nil, err
	}
	keys, err := item.Parse([]byte(r.Keys))
	if err != nil {
		return nil, err
	}
	var paths []string
	for name, v := range it.All() {
		_, isKey := keys.Get(name)
		isScalar := v.Kind() == item.KindS || v.Kind() == item.KindN
		isShort := isScalar && v.Len() < 200
		if isShort && !isKey && len(paths) < 3 {
			paths = append(paths, fmt.Sprintf("[%q]", name))
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("the first record has no attribute of one text or number beside its key")
	}
	return paths, nil
}

// image returns the new image, or the old image if there is no new one.
func (r savedRecord) image() string {
	if r.New != "" {
		return r.New
	}
	return r.Old
}

func (w *whole) decode(body []byte) (*record.Page, error) {
	answer, err := w.decoder.DecodeGetRecords(body)
	if err == nil && len(answer.Page.Errors) > 0 {
		err = answer.Page.Errors[0]
	}
	return answer.Page, err
}

// run takes all pages through the pipeline, and returns the number of changes.
func (w *whole) run(ctx context.Context) (int, error) {
	w.counts.reset()
	next := 0
	err := w.pipeline.Run(ctx, pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if next == max(w.passes, 1)*len(w.bodies) {
			return nil, io.EOF
		}
		body, shard := w.bodies[next%len(w.bodies)], w.shards[next%len(w.shards)]
		next++
		if w.fresh {
			body = bytes.Clone(body)
		}
		return &pipeline.Page{
			Partition: shard, Position: pipeline.Position(strconv.Itoa(next)), Page: record.Page{Bytes: len(body)},
			Decode: func() (*record.Page, error) { return w.decode(body) },
		}, nil
	}), pipeline.CommitterFunc(func(context.Context, string, pipeline.Position) error { return nil }))
	if err != nil {
		return 0, err
	}
	return w.check()
}

// check compares the ledgers with what the stores have counted since the last check.
func (w *whole) check() (int, error) {
	l, before := w.pipeline.Ledger(), w.before
	w.before = l
	if err := l.Check(); err != nil {
		return 0, err
	}
	read, routed := l.Source.Read-before.Source.Read, l.Source.Routed-before.Source.Routed
	for name, s := range l.Sinks {
		was := before.Sinks[name]
		if s.Pending+s.DeadLettered > 0 || s.Routed-was.Routed != routed {
			return 0, fmt.Errorf("sink %s: of %d routed changes it took %+v", name, routed, s)
		}
	}
	rows, documents, places := w.counts.rows.Load(), w.counts.documents.Load(), w.counts.places.Load()
	completed := l.Events["completed"] - before.Events["completed"]
	isComplete := rows > 0 && documents > 0 && places == routed
	if w.usual {
		isComplete = isComplete && routed == read && rows == read && documents == read && completed == read
	}
	if !isComplete {
		return 0, fmt.Errorf("of %d changes came %d rows, %d documents, %d archived and %v events", read, rows, documents, places, l.Events)
	}
	return int(read), nil
}
