package canary

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
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
	searchsqlite "github.com/tablewake/tablewake/sinks/search/sqlite"
)

// protected has every kind of sink twice: without any sensitive attribute, and with one sensitive attribute.
const protected = `
version: 1
name: shop
source: {table: shop}
hmac_key: '${SECRET:-a-secret-of-the-test-0123456789}'
sensitive: [Email, 'Address.**', 'Lines[*].serial', Tags, 'Notes.*']
detect:
  told: {changed: ['**', Email, 'Address.*', 'Lines[*].serial', 'Notes.*']}
  tagged: {added: Tags}
  gone: {disappeared: Email}
  vip: {func: vip}
sinks:
  by_status:
    view: {table: by-status, key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {total: '{Total}'}}
  by_mail:
    view: {table: by-mail, key: {PK: 'EMAIL#{Email|lower}', SK: USER}, attributes: {user: '{PK}', mail: '{Email}'}, allow_sensitive: [Email]}
  sold:
    aggregate: {table: sold, for_each: Lines, group: {PK: 'PRODUCT#{each.sku}', SK: SOLD}, values: {units: {sum: each.qty}, n: count}, on_ttl_delete: keep}
  mails:
    aggregate: {table: mails, group: {PK: '{Status}', SK: MAILS}, values: {mails: {distinct: Email}}, on_ttl_delete: retract, allow_sensitive: [Email]}
  documents:
    search: {index: documents}
  hashed:
    search: {index: hashed, id: hmac, fields: {include: [Email, Status], hash: [Email]}}
  people:
    search: {index: people, fields: {include: [Email]}, allow_sensitive: [Email]}
  masked:
    archive: {bucket: masked, masked: true, partition: 'by={Email|lower}'}
  items:
    archive: {bucket: items, layout: per_item, images: plain_json, masked: true, key: '{Email}/{Address.City}/{PK}/{@version}.json'}
  open:
    archive: {bucket: open, masked: true, allow_sensitive: [Email]}
  events:
    notify: {queue: q, events: [told, tagged, gone, vip]}
  mail_events:
    notify: {queue: q, events: [told, tagged, gone, vip], allow_sensitive: [Email]}
  own:
    custom: {name: own}
  crm:
    custom: {name: crm, allow_sensitive: [Email]}
`

// These are the canaries. Each is in a sensitive attribute, and named is the name of a member. Some sinks may hold
// mail.
const (
	mail   = "tweety.mail"
	street = "tweety.street"
	named  = "tweety_name"
	serial = "tweety.serial"
	tag    = "tweety.tag"
	note   = "tweety.note"
)

// others are the canaries that no sink may hold.
var others = []string{street, named, serial, tag, note}

// protectedStream returns changes of items that are created, changed and deleted, and that collide. A sink cannot
// accept some of the items, and some records cannot be decoded at a sensitive attribute.
func protectedStream() string {
	var b strings.Builder
	n := 0
	record := func(op, pk, images string) {
		n++
		fmt.Fprintf(&b, `{"eventID":"%[1]d","eventName":%[2]q,"awsRegion":"eu-central-1","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678",`+
			`"dynamodb":{"ApproximateCreationDateTime":1767323045,"Keys":{"PK":{"S":%[3]q}},"SequenceNumber":"10000000000000000%04[1]d"%[4]s,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`+"\n",
			n, op, pk, images)
	}
	item := func(pk, mail, version, rest string) string {
		return `{"PK":{"S":"` + pk + `"},"Status":{"S":"paid"},"Total":{"N":"5"},"Email":{"S":"` + mail + `"},` +
			`"Address":{"M":{"City":{"S":"` + street + version + `"},"` + named + version + `":{"L":[{"S":"` + street + `"}]}}},` +
			`"Lines":{"L":[{"M":{"sku":{"S":"p1"},"qty":{"N":"2"},"serial":{"S":"` + serial + version + `"}}}]},` +
			`"Tags":{"SS":["` + tag + version + `","x"]},"Notes":{"M":{"a":{"S":"` + note + version + `"}}}` + rest + `}`
	}
	for i := range 40 {
		pk := fmt.Sprintf("USER#%d", i)
		address := fmt.Sprintf("%s.%d@x.org", mail, i/2) // every second item collides with the one before
		record("INSERT", pk, `,"NewImage":`+item(pk, address, "", ""))
		record("MODIFY", pk, `,"OldImage":`+item(pk, address, "", "")+`,"NewImage":`+item(pk, strings.ToUpper(address), "2", ""))
		switch i % 4 {
		case 0:
			record("REMOVE", pk, `,"OldImage":`+item(pk, strings.ToUpper(address), "2", ""))
		case 1:
			odd := item(pk, address, "3", `,"Status2":{"S":"x"}`)
			record("MODIFY", pk, `,"OldImage":`+item(pk, strings.ToUpper(address), "2", "")+`,"NewImage":`+strings.Replace(odd, `"qty":{"N":"2"}`, `"qty":{"S":"`+"two"+`"}`, 1))
		case 2:
			record("INSERT", pk, `,"NewImage":{"PK":{"S":"`+pk+`"},"Address":{"M":{"`+named+`":{"M":{"x":{"N":"`+street+`"}}}}}}`)
			record("INSERT", pk, `,"NewImage":{"PK":{"S":"`+pk+`"},"Email":{"N":"`+mail+`"}}`)
		}
	}
	return b.String()
}

// faulty fails every third call of a store, and quotes everything that the call was given.
type faulty struct {
	*local.Stores
	mu    sync.Mutex
	calls int
}

func (f *faulty) fail(given any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.calls%3 == 0 {
		return pipeline.Transient(fmt.Errorf("no room for %+v", given))
	}
	return nil
}

// spy is a Go sink that keeps its changes. Sometimes it fails with an error that quotes its changes.
type spy struct {
	faults *faulty
	mu     sync.Mutex
	seen   strings.Builder
}

func (s *spy) Write(_ context.Context, ds []pipeline.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range ds {
		c := d.Change
		fmt.Fprintf(&s.seen, "%s %s %s %s %s\n", c.Key, c.Raw, c.Keys.Value(), c.Old.Value(), c.New.Value())
		for _, e := range d.Events {
			fmt.Fprintf(&s.seen, "%s %s %v %v %s\n", e.ID(), e.Path, e.Old, e.New, e.Change.Raw)
		}
	}
	return s.faults.fail(s.seen.String())
}

// Sensitive values are only in sinks that may hold them, whatever fails on the way.
func TestSensitiveIsKept(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(protected), os.LookupEnv)
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
	faults := &faulty{Stores: stores}
	own, crm := &spy{faults: faults}, &spy{faults: faults}
	given := func(s *spy) func(context.Context, struct{}) (pipeline.Sink, error) {
		return func(context.Context, struct{}) (pipeline.Sink, error) { return s, nil }
	}
	options := []sinks.Option{
		sinks.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		sinks.WithTelemetry(trace.NewTracerProvider(trace.WithSyncer(spans)), metric.NewMeterProvider(metric.WithReader(reader))),
		sinks.With("own", given(own)), sinks.With("crm", given(crm)),
		sinks.WithFunc("vip", func(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
			v, _ := c.New.Get("Notes")
			return append(dst, pipeline.Event{New: v}), nil
		}),
	}
	p, err := sinks.Assemble(t.Context(), cfg, faults, options...)
	if err != nil {
		t.Fatal(err)
	}
	src, err := replay.Open(replay.Options{Paths: []string{"-"}, Stdin: strings.NewReader(protectedStream())})
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
	if err := ledger.Check(); err != nil || runErr != nil {
		t.Fatalf("%v, %v: %+v", runErr, err, ledger)
	}
	for _, s := range []string{"by_mail", "sold"} {
		if ledger.Sinks[s].DeadLettered == 0 {
			t.Errorf("%s has no dead letters: %+v", s, ledger.Sinks[s])
		}
	}
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &metrics); err != nil {
		t.Fatal(err)
	}
	d := stores.Dir()
	nothing := map[string]string{
		"the log":          log.b.String(),
		"the ledger":       fmt.Sprintf("%+v", ledger),
		"the spans":        fmt.Sprintf("%+v", spans.GetSpans()),
		"the metrics":      fmt.Sprintf("%+v", metrics),
		"letters' errors":  letterErrors(t, d.DeadLetters()),
		"explain":          explained(t, cfg, options),
		"events":           files(t, d.Events("events")),
		"the archive":      files(t, d.Archive("masked")),
		"objects":          files(t, d.Archive("items")),
		"documents":        documents(t, d.Views(), "documents"),
		"hashed documents": documents(t, d.Views(), "hashed"),
		"a Go sink":        own.seen.String(),
	}
	mails := map[string]string{ // these may hold one sensitive attribute
		"the tables":       files(t, d.Views()),
		"the open archive": files(t, d.Archive("open")),
		"people":           documents(t, d.Views(), "people"),
		"events of mails":  files(t, d.Events("mail_events")),
		"the CRM":          crm.seen.String(),
	}
	for what, text := range nothing {
		if line := holds(text, append(others, mail)); line != "" {
			t.Errorf("%s: %s", what, line)
		}
		if text == "" {
			t.Errorf("%s: nothing is there", what)
		}
	}
	for what, text := range mails {
		if line := holds(text, others); line != "" {
			t.Errorf("%s: %s", what, line)
		}
		if holds(text, []string{mail}) == "" {
			t.Errorf("%s: the attribute that is allowed is missing", what)
		}
	}
	for _, what := range []string{"events", "the archive", "objects", "a Go sink", "explain", "letters' errors"} {
		if !strings.Contains(nothing[what], "masked-") {
			t.Errorf("%s: nothing is masked", what)
		}
	}
	if raw := files(t, d.DeadLetters()); holds(raw, []string{mail}) == "" || holds(raw, []string{street}) == "" {
		t.Error("dead letters do not hold the raw records")
	}
}

// letterErrors returns the errors in dead letters.
func letterErrors(t *testing.T, folder string) string {
	t.Helper()
	letters, err := dir.New(dir.Options{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer letters.Close()
	var b strings.Builder
	for l, err := range letters.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Class != "undecodable" { // an undecodable letter names the whole place in the record
			fmt.Fprintf(&b, "%s %s: %s\n", l.Sink, l.Class, l.Error)
		}
	}
	return b.String()
}

// explained returns the whole output of explain for the records.
func explained(t *testing.T, cfg *config.Config, options []sinks.Option) string {
	t.Helper()
	p, err := sinks.Assemble(t.Context(), cfg, sinks.PlanOnly(), append(slices.Clone(options), sinks.MaskAll())...)
	if err != nil {
		t.Fatal(err)
	}
	mask, err := sinks.Mask(cfg)
	if err != nil {
		t.Fatal(err)
	}
	page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(protectedStream()))
	var b strings.Builder
	for i := range page.Changes {
		x := mask.Explanation(p.Explain(&page.Changes[i]))
		fmt.Fprintf(&b, "%s %v\n", x.Change.Key, x.Filters)
		for _, d := range x.Diff {
			fmt.Fprintf(&b, "%s: %v -> %v\n", d.Path, d.Old, d.New)
		}
		for _, e := range x.Events {
			fmt.Fprintf(&b, "%s %s: %v -> %v\n", e.Detector, e.Path, e.Old, e.New)
		}
		for _, r := range x.Routes {
			fmt.Fprintf(&b, "%s: %v %v %v %s %v\n", r.Name, r.Filters, r.Outcome, r.Ops, r.Reason, r.Err)
		}
	}
	for _, e := range page.Errors {
		fmt.Fprintf(&b, "%v of %s\n", mask.RecordError(e), mask.RecordError(e).Key)
	}
	return b.String()
}

// documents returns the documents of an index, with their ids.
func documents(t *testing.T, file, index string) string {
	t.Helper()
	store, err := searchsqlite.OpenReader(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var b strings.Builder
	for doc, err := range store.Documents(t.Context(), index) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", doc.ID, doc.Doc)
	}
	return b.String()
}

// files returns the names and the unpacked bytes of a file, or of all files in a folder.
func files(t *testing.T, path string) string {
	t.Helper()
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unpack.Close()
	var b strings.Builder
	err = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := os.ReadFile(name)
		if err == nil && strings.HasSuffix(name, ".zst") {
			body, err = unpack.DecodeAll(body, nil)
		}
		rest, _ := filepath.Rel(path, name)
		fmt.Fprintf(&b, "%s\n%s\n", rest, body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// holds returns the first place in text that has one of the canaries.
func holds(text string, canaries []string) string {
	lower := strings.ToLower(text)
	for _, c := range canaries {
		if i := strings.Index(lower, c); i >= 0 {
			return fmt.Sprintf("%q in ...%q", c, text[max(0, i-200):min(len(text), i+80)])
		}
	}
	return ""
}
