package canary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/local"
)

// canary is in every key and every value of the records.
const canary = "tweety"

// file has every kind of stage. Each stage fails on some of the records.
const file = `
version: 1
name: shop
source: {table: shop, ttl_attribute: expiresAt}
filters:
  - keep: {expr: 'keys.SK != "odd" || number(keys.SK) > 1', name: sort_keys}
detect:
  paid: {attribute: Status, to: paid, when: 'new.Total + 2 > 3'}
  moved: {changed: [Address.**]}
  vip: {func: vip}
sinks:
  by_day:
    view:
      table: by-day
      when: 'item.Type != "Skipped"'
      key: {PK: '{CreatedAt|date:2006-01-02}', SK: '{@key}'}
      attributes: {name: '{Name|upper}', all: '{Nested}', part: '{Name|split:-:9}'}
  by_total:
    view:
      table: by-total
      when: 'item.Total + 1 > 2'
      key: {PK: 'T#{Total|pad:2}', SK: '{@key}'}
  by_list:
    view: {table: by-list, key: {PK: 'L#{Nested}', SK: '{@key}'}}
  documents:
    search: {index: documents, fields: {numbers: {Total: scaled_float, Name: string}}}
  log:
    archive: {bucket: shop-archive, prefix: log/, partition: 'd={CreatedAt|date:2006}'}
  items:
    archive: {bucket: shop-archive, layout: per_item, key: 'items/{Type}/{PK}/{@version}.json'}
  told:
    notify: {queue: shop-told, events: [paid, moved, vip], when: 'new.Total > 1'}
  own:
    custom: {name: own}
`

// stream returns sound records, records on which stages fail, and records of every class that cannot be decoded.
func stream() string {
	var b strings.Builder
	n := 0
	record := func(op, images string) {
		n++
		sortKey := canary
		if n%14 == 1 {
			sortKey = "odd"
		}
		fmt.Fprintf(&b, `{"eventID":"%[1]d","eventName":%[2]q,"awsRegion":"eu-central-1","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678",`+
			`"dynamodb":{"ApproximateCreationDateTime":1767323045,"Keys":{"PK":{"S":"%[3]s#%[1]d"},"SK":{"S":"%[5]s"}},"SequenceNumber":"10000000000000000%04[1]d"%[4]s,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`+"\n",
			n, op, canary, images, sortKey)
	}
	item := func(rest string) string {
		return `{"Type":{"S":"Order"},"Name":{"S":"` + canary + `"},"Address":{"M":{"City":{"S":"` + canary + ` town"}}},` + rest + `}`
	}
	sound := item(`"CreatedAt":{"S":"2026-01-02T03:04:05Z"},"Total":{"N":"12"},"Status":{"S":"new"}`)
	paid := item(`"CreatedAt":{"S":"2026-01-02T03:04:05Z"},"Total":{"N":"12"},"Status":{"S":"paid"}`)
	odd := item(`"CreatedAt":{"S":"` + canary + ` day"},"Total":{"S":"` + canary + `"},"Status":{"S":"paid"},"Nested":{"L":[{"S":"` + canary + `"}]}`)
	for range 4 {
		record("INSERT", `,"NewImage":`+sound)
		record("MODIFY", `,"OldImage":`+sound+`,"NewImage":`+paid)
		record("MODIFY", `,"OldImage":`+sound+`,"NewImage":`+odd)
		record("REMOVE", `,"OldImage":`+odd)
		record(canary, `,"NewImage":`+odd)
		record("INSERT", `,"NewImage":`+item(`"Total":{"N":"`+canary+`"}`))
		record("INSERT", `,"NewImage":`+item(`"Blob":{"B":"`+canary+`!"}`))
		record("INSERT", `,"NewImage":`+item(`"Odd":{"X":"`+canary+`"}`))
		record("INSERT", `,"NewImage":`+item(`"Odd":"`+canary+`"`))
		record("INSERT", `,"NewImage":`+item(`"Yes":{"BOOL":"`+canary+`"}`))
		record("INSERT", `,"NewImage":`+item(`"Set":{"SS":["`+canary+`","`+canary+`"]}`))
		record("INSERT", `,"NewImage":"`+canary+`"`)
		record("INSERT", `,"SizeBytes":"`+canary+`","NewImage":`+sound)
		record("MODIFY", `,"NewImage":`+sound)
		b.WriteString(`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"` + canary + "\n")
		b.WriteString(`{"eventName":"INSERT","eventSourceARN":"` + canary + `","dynamodb":{"Keys":{"PK":{"S":"` + canary + `"}},"SequenceNumber":"` + canary + `","NewImage":{}}}` + "\n")
		b.WriteString(canary + "\n")
	}
	return b.String()
}

// own is a sink that fails in every possible way. Each error names the item.
type own struct {
	mu    sync.Mutex
	calls int
}

func (o *own) Write(_ context.Context, ds []pipeline.Delivery) error {
	o.mu.Lock()
	o.calls++
	n := o.calls
	o.mu.Unlock()
	var failed pipeline.BatchError
	for i := range ds {
		name, _ := ds[i].Change.New.Get("Name")
		err := fmt.Errorf("%s: %v is wrong", ds[i].Change.Key, name)
		switch n % 4 {
		case 0:
			failed.Add(i, err)
		case 1:
			failed.Add(i, pipeline.Transient(err))
		case 2:
			panic(err.Error())
		case 3:
			panic(err)
		}
	}
	return failed.OrNil()
}

// lockedBuffer is a buffer that several goroutines may write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// However a run fails, its logs, spans, metrics, ledgers and errors have nothing of an item. In a dead letter, the
// error of a built-in stage names the place, not the value. The error of a user's own code is only in the dead letter.
func TestNothingOfAnItemIsShown(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(file), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	stores, err := local.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	p, err := sinks.Assemble(t.Context(), cfg, stores,
		sinks.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		sinks.WithTelemetry(trace.NewTracerProvider(trace.WithSyncer(spans)), metric.NewMeterProvider(metric.WithReader(reader))),
		sinks.With("own", func(context.Context, struct{}) (pipeline.Sink, error) { return &own{}, nil }),
		sinks.WithFunc("vip", func(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
			switch name, _ := c.New.Get("Name"); c.Index % 5 {
			case 0:
				panic(name.String())
			case 1:
				return dst, fmt.Errorf("%s: %v is no VIP", c.Key, name)
			}
			return append(dst, pipeline.Event{}), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	src, err := replay.Open(replay.Options{Paths: []string{"-"}, Stdin: strings.NewReader(stream())})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	runErr := p.Run(ctx, src, nil)
	if err := errors.Join(src.Close(), stores.Close()); err != nil {
		t.Fatal(err)
	}
	ledger := p.Ledger()
	if err := ledger.Check(); err != nil || ledger.Source.Undecodable < 40 {
		t.Fatalf("%d undecodable, %v: %+v", ledger.Source.Undecodable, err, ledger)
	}
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &metrics); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"the log":         log.b.String(),
		"the run's error": fmt.Sprint(runErr),
		"the ledger":      fmt.Sprintf("%+v", ledger),
		"the spans":       fmt.Sprintf("%+v", spans.GetSpans()),
		"the metrics":     fmt.Sprintf("%+v", metrics),
	} {
		if line := shows(text); line != "" {
			t.Errorf("%s shows an item: %s", what, line)
		}
		if text == "" {
			t.Errorf("%s says nothing", what)
		}
	}
	checkLetters(t, stores.Dir().DeadLetters())
}

// checkLetters checks the errors in dead letters.
func checkLetters(t *testing.T, folder string) {
	t.Helper()
	letters, err := dir.New(dir.Options{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer letters.Close()
	classes := map[string]int{}
	for l, err := range letters.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		classes[strings.TrimSpace(l.Class+" "+l.Sink)]++
		switch {
		case l.Sink == "own" || l.Class == "detector" || l.Class == "panic": // the error of the user's own code
		case shows(l.Error) != "":
			t.Errorf("a letter of %s (%s) shows an item: %s", l.Sink, l.Class, shows(l.Error))
		}
	}
	for _, class := range []string{"undecodable", "filter by_day", "filter own", "detector told", "plan by_day", "plan by_total", "plan by_list", "plan log", "write own", "panic own"} {
		if classes[class] == 0 {
			t.Errorf("no letter of %s, only of %v", class, classes)
		}
	}
}

// shows returns a part of the first line of text that has the canary.
func shows(text string) string {
	for line := range strings.Lines(text) {
		if i := strings.Index(strings.ToLower(line), canary); i >= 0 {
			return line[max(0, i-300):min(len(line), i+100)]
		}
	}
	return ""
}
