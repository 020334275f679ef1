package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/telemetry/cost"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/audit"
)

// world has the processes whose metrics and spans are tested.
type world struct {
	t      *testing.T
	reader *sdkmetric.ManualReader
	meter  *sdkmetric.MeterProvider
	spans  *tracetest.InMemoryExporter
	tracer *trace.TracerProvider
	server *streamtest.Server
	stream *streamtest.Stream
	shard  string
	seqs   []string
	tried  map[string]bool
	seen   []metricdata.ResourceMetrics
}

// emitted returns the metrics and spans of a day: of a consumer that lost records, of a function with events of all
// kinds, and of sinks that fail in all ways. Metrics are collected several times, because a gauge exists only as long
// as the thing that it measures.
func emitted(t *testing.T) (metrics []metricdata.ResourceMetrics, spans tracetest.SpanStubs) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, tried: map[string]bool{}, reader: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
		w.meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.reader))
		w.tracer = trace.NewTracerProvider(trace.WithSyncer(w.spans))
		w.server = streamtest.New(streamtest.Options{})
		w.stream = w.server.AddStream("shop")
		w.shard = w.stream.Shards()[0]
		w.consume()
		w.handle()
		w.holdBack()
		w.audit()
		w.entities()
		w.callAWS()
		w.collect()
		metrics, spans = w.seen, w.spans.GetSpans()
	})
	return metrics, spans
}

func (w *world) collect() {
	w.t.Helper()
	var rm metricdata.ResourceMetrics
	if err := w.reader.Collect(context.Background(), &rm); err != nil {
		w.t.Fatal(err)
	}
	w.seen = append(w.seen, rm)
}

// write handles a change as the name of its item says.
func (w *world) write(ctx context.Context, ds []pipeline.Delivery) error {
	var failed pipeline.BatchError
	for i := range ds {
		v, _ := ds[i].Change.Keys.Get("PK")
		name, _ := v.Text()
		switch {
		case strings.HasPrefix(name, "again") && !w.tried[name]:
			w.tried[name] = true
			failed.Add(i, pipeline.Transient(errors.New("not now")))
		case strings.HasPrefix(name, "never"):
			failed.Add(i, errors.New("never"))
		case strings.HasPrefix(name, "nothing"):
			ds[i].Outcome, ds[i].Reason = pipeline.NoEffect, "sparse"
		case strings.HasPrefix(name, "hang"):
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return failed.OrNil()
}

type nowhere struct{}

func (nowhere) Put(context.Context, []pipeline.DeadLetter) error { return nil }

// pipeline returns a pipeline with every kind of stage. Each process has its own pipeline.
func (w *world) pipeline() *pipeline.Pipeline {
	w.t.Helper()
	p, err := pipeline.New(pipeline.Options{
		Name: "shop", DeadLetters: nowhere{}, Tracer: w.tracer, Meter: w.meter,
		Filters: []pipeline.Filter{pipeline.FilterFunc(func(c *record.Change) (pipeline.Verdict, error) {
			return pipeline.Verdict{Drop: strings.Contains(string(c.Key), "drop"), Reason: "dropped_by_name"}, nil
		})},
		Detectors: []pipeline.NamedDetector{{Name: "all", Detector: pipeline.DetectorFunc(func(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
			return append(dst, pipeline.Event{}), nil
		})}},
		Routes: []pipeline.Route{{Name: "rows", Sink: pipeline.SinkFunc(w.write), Concurrency: 1}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// put writes items with these names.
func (w *world) put(names ...string) {
	for _, name := range names {
		item := fmt.Sprintf(`{"PK":{"S":%q}}`, name)
		w.seqs = append(w.seqs, w.stream.Put(w.shard, streamtest.Record{Keys: item, New: item})...)
	}
}

// consume reads the stream, stops, and starts again after records were dropped.
func (w *world) consume() {
	table := leases.NewMemory(leases.Snapshot{})
	left := 0 // number of records in the shard
	for range 2 {
		p := w.pipeline()
		c, err := consumer.New(consumer.Options{
			API: w.server, Table: table, Meter: w.meter, Pipeline: "shop",
			Gaps:           pipeline.GapFunc(func(context.Context, record.Gap) error { return nil }),
			Coordinator:    coordinator.Options{Name: "a", Sources: []coordinator.Source{{Table: "shop"}}, OnGap: coordinator.Continue},
			UnrepairedGaps: func() int64 { return 1 },
		})
		if err != nil {
			w.t.Fatal(err)
		}
		ctx, stop := context.WithCancel(w.t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, c, c) }()
		w.put("again1", "never1", "nothing1", "drop1", "plain1")
		time.Sleep(10 * time.Minute)
		w.collect()
		stop()
		if err := errors.Join(<-done, c.Close(context.Background())); err != nil {
			w.t.Fatal(err)
		}
		w.put("lost1", "lost2")
		w.stream.Trim(w.shard, left+6)
		left = 1
	}
}

// handle runs a function on events of streams and of messages.
func (w *world) handle() {
	h := handlers.All(w.pipeline(), handlers.WithMeter(w.meter), handlers.WithStreams(w.server),
		handlers.WithGaps(pipeline.GapFunc(func(context.Context, record.Gap) error { return nil })))
	record := func(name string, sequence int) string {
		return fmt.Sprintf(`{"eventID":"%d","eventName":"INSERT","eventSource":"aws:dynamodb","eventSourceARN":%q,"awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":946684800,`+
			`"Keys":{"PK":{"S":%q}},"NewImage":{"PK":{"S":%q}},"SequenceNumber":"%d","StreamViewType":"NEW_AND_OLD_IMAGES"}}`, sequence, w.stream.ARN(), name, name, sequence)
	}
	undecodable := strings.Replace(record("plain", 100), `"NewImage":{"PK":{"S":`, `"NewImage":{"PK":{"Q":`, 1)
	gaveUp := fmt.Sprintf(`{"requestContext":{"condition":"RetryAttemptsExhausted"},"DDBStreamBatchInfo":{"shardId":%q,"startSequenceNumber":%q,"endSequenceNumber":%q,"batchSize":2,"streamArn":%q}}`,
		w.shard, w.seqs[len(w.seqs)-2], w.seqs[len(w.seqs)-1], w.stream.ARN())
	for _, event := range []string{
		`{"Records":[` + undecodable + `,` + record("plain", 101) + `,` + record("hang", 102) + `]}`,
		fmt.Sprintf(`{"Records":[{"messageId":"m1","body":%q,"eventSource":"aws:sqs"}]}`, gaveUp),
	} {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		_, _ = h.Invoke(ctx, []byte(event)) // other tests check the answer
		cancel()
	}
}

// outage is a store that fails until outage is closed.
type outage chan struct{}

func (o outage) answer() error {
	select {
	case <-o:
		return nil
	default:
		return pipeline.Transient(errors.New("down"))
	}
}

func (o outage) Put(context.Context, []pipeline.DeadLetter) error { return o.answer() }
func (o outage) Write(context.Context, []pipeline.Delivery) error { return o.answer() }

// holdBack runs a pipeline with partitions that wait for a failing sink and for failing dead letters.
func (w *world) holdBack() {
	down := make(outage)
	p, err := pipeline.New(pipeline.Options{
		Name: "shop", DeadLetters: down, Tracer: w.tracer, Meter: w.meter, Routes: []pipeline.Route{{Name: "rows", Sink: down}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	pages := []*pipeline.Page{
		{Partition: "a", Position: "1", Page: record.Page{Bytes: 1, Changes: []record.Change{{Key: "a"}}}},
		{Partition: "b", Position: "1", Page: record.Page{Bytes: 1, Errors: []*record.RecordError{{Err: errors.New("no record")}}}},
	}
	done := make(chan error, 1)
	go func() {
		done <- p.Run(ctx, pipeline.SourceFunc(func(ctx context.Context) (*pipeline.Page, error) {
			if len(pages) == 0 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			page := pages[0]
			pages = pages[1:]
			return page, nil
		}), nil)
	}()
	time.Sleep(time.Minute)
	w.collect()
	close(down)
	stop()
	if err := <-done; err != nil {
		w.t.Fatal(err)
	}
}

// audit records the result of an audit that found differences and did not cover everything.
func (w *world) audit() {
	m, err := audit.NewMetrics(w.meter, "shop")
	if err != nil {
		w.t.Fatal(err)
	}
	m.Record(w.t.Context(), audit.MetricTotals{Coverage: 0.5, Findings: map[string]map[audit.Verdict]int64{"rows": {audit.Missing: 1, audit.Held: 2, audit.Busy: 3}}})
}

// entities handles an item that belongs to no entity.
func (w *world) entities() {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
entities: {Order: {key: {PK: 'ORDER#{OrderId}'}}}
sinks: {nothing: {custom: {name: discard}}}
`), os.LookupEnv)
	if err != nil {
		w.t.Fatal(err)
	}
	stores := struct{ sinks.Stores }{sinks.PlanOnly()} // over PlanOnly itself a pipeline has no metrics
	p, err := sinks.Assemble(w.t.Context(), cfg, stores, sinks.WithTelemetry(w.tracer, w.meter), sinks.CountNoEntity(new(atomic.Int64)))
	if err != nil {
		w.t.Fatal(err)
	}
	page := *record.NewDecoder(record.DecoderOptions{Table: "shop", EpochZero: true}).DecodeLines([]byte(
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"USER#1"}},"SequenceNumber":"100000000000000000001","NewImage":{"PK":{"S":"USER#1"}}}}`))
	once := &onePage{&pipeline.Page{Page: page, Partition: "0", Position: "1", End: true}}
	if err := p.Run(w.t.Context(), once, nil); err != nil {
		w.t.Fatal(err)
	}
}

// onePage is a source with one page.
type onePage struct{ page *pipeline.Page }

func (o *onePage) Read(context.Context) (*pipeline.Page, error) {
	p := o.page
	if o.page = nil; p == nil {
		return nil, io.EOF
	}
	return p, nil
}

// callAWS calls a service of AWS.
func (w *world) callAWS() {
	count, err := cost.Middleware("shop", w.meter)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: answering{},
		APIOptions: []func(*middleware.Stack) error{count},
	}).DeleteMessage(w.t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String("q"), ReceiptHandle: aws.String("r")})
	if err != nil {
		w.t.Fatal(err)
	}
}

// answering is a service that accepts every call.
type answering struct{}

func (answering) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
}
