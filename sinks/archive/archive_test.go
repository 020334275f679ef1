package archive_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
)

const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

// line returns a record of the item pk in the form of a Lambda event. n is the sequence number of the record, and also
// its hour on 2026-01-02.
func line(op, pk string, n int, rest string) string {
	image := ""
	if op != "REMOVE" {
		image = `,"NewImage":{"PK":{"S":"` + pk + `"},"n":{"N":"1.50"}}`
	}
	return fmt.Sprintf(`{"eventID":"e%d","eventName":"%s","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-central-1",`+
		`"dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{"PK":{"S":"%s"}}%s,"SequenceNumber":"%d","SizeBytes":10,"StreamViewType":"NEW_IMAGE"}%s,"eventSourceARN":"%s"}`,
		n, op, 1767312000+3600*n, pk, image, n, rest, arn)
}

const ttl = `,"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}`

func change(t *testing.T, rec string, o record.DecoderOptions) *record.Change {
	t.Helper()
	page, err := record.NewDecoder(o).Decode([]byte(rec))
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Errors) > 0 {
		t.Fatal(page.Errors[0])
	}
	return &page.Changes[0]
}

func changes(t *testing.T, records ...string) []*record.Change {
	t.Helper()
	var cs []*record.Change
	for _, r := range records {
		cs = append(cs, change(t, r, record.DecoderOptions{}))
	}
	return cs
}

func parse(t *testing.T, src string) *template.Template {
	t.Helper()
	tmpl, err := template.Parse(src, template.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func newSink(t *testing.T, o archive.Options) *archive.Sink {
	t.Helper()
	s, err := archive.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write plans changes and writes them in one batch. It returns the reasons of the changes without effect, followed by
// the outcomes of all others.
func write(t *testing.T, s *archive.Sink, cs ...*record.Change) (string, error) {
	t.Helper()
	ds := make([]pipeline.Delivery, 0, len(cs))
	var outcomes []string
	for _, c := range cs {
		d := pipeline.Delivery{Change: c}
		if err := s.Plan(&d); err != nil {
			t.Fatal(err)
		}
		if d.Outcome == pipeline.NoEffect {
			outcomes = append(outcomes, d.Reason)
			continue
		}
		ds = append(ds, d)
	}
	err := s.Write(t.Context(), ds)
	for _, d := range ds {
		outcomes = append(outcomes, d.Outcome.String())
	}
	return strings.Join(outcomes, " "), err
}

func mustWrite(t *testing.T, s *archive.Sink, cs ...*record.Change) string {
	t.Helper()
	outcomes, err := write(t, s, cs...)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// read returns all changes of an archive in the order of reading, as item@sequence.
func read(t *testing.T, l archive.Lister, o archive.ReadOptions) string {
	t.Helper()
	var all []string
	for e, err := range archive.Read(t.Context(), l, o) {
		if err != nil {
			t.Fatal(err)
		}
		version := e.Version.String()
		all = append(all, string(e.Key)+"@"+strings.TrimLeft(version[10:], "0"))
	}
	return strings.Join(all, " ")
}

func versionOf(n int) string { return fmt.Sprintf("1767323045%040d", n) }

func TestLog(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Prefix: "changes/", Partition: parse(t, "dt={@time|date:2006-01-02}/hour={@time|date:15}")})
	a3, a4, b3, c4 := line("INSERT", "a", 3, ""), line("MODIFY", "a", 4, ""), line("REMOVE", "b", 3, ttl), line("EVOLVE", "c", 4, "")
	if got, want := mustWrite(t, s, changes(t, c4, b3, a4, a3, a4)...), "written written written written coalesced"; got != want {
		t.Errorf("outcomes %s, want %s", got, want)
	}
	names := store.names()
	if len(names) != 2 {
		t.Fatalf("objects %q, want two", names)
	}
	for i, want := range []struct{ prefix, text string }{
		{"changes/dt=2026-01-02/hour=03/" + versionOf(3) + "-" + versionOf(3) + "-", a3 + "\n" + b3 + "\n"},
		{"changes/dt=2026-01-02/hour=04/" + versionOf(4) + "-" + versionOf(4) + "-", a4 + "\n" + c4 + "\n"},
	} {
		if rest, ok := strings.CutPrefix(names[i], want.prefix); !ok || len(rest) != len(".jsonl.zst")+32 || !strings.HasSuffix(rest, ".jsonl.zst") {
			t.Errorf("object %s, want %s...", names[i], want.prefix)
		}
		if got := store.text(t, names[i]); got != want.text {
			t.Errorf("%s holds\n%s, want\n%s", names[i], got, want.text)
		}
	}
	if got, want := read(t, store, archive.ReadOptions{}), "a@3 a@4 b@3 c@4"; got != want {
		t.Errorf("read back %s, want %s", got, want)
	}
}

// The same batch makes the same objects with the same bytes, in whatever order its items are. If the batch is written
// again, the sink finds the objects and changes nothing.
func TestTheSameBatchMakesTheSameObjects(t *testing.T) {
	store := &memory{}
	batch := changes(t, line("INSERT", "a", 1, ""), line("INSERT", "b", 2, ""), line("MODIFY", "a", 3, ""))
	mustWrite(t, newSink(t, archive.Options{Store: store}), batch...)
	before := maps.Clone(store.objects)
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {0, 1, 0, 2, 1}} {
		var again []*record.Change
		for _, i := range order {
			again = append(again, batch[i])
		}
		fresh := &memory{}
		for _, to := range []*memory{store, fresh} {
			mustWrite(t, newSink(t, archive.Options{Store: to}), again...)
			if !maps.EqualFunc(to.objects, before, bytes.Equal) {
				t.Errorf("order %v: objects %q, want %q", order, to.names(), slices.Collect(maps.Keys(before)))
			}
		}
	}
	mustWrite(t, newSink(t, archive.Options{Store: store}), batch[1], batch[2])
	if len(store.objects) != 2 {
		t.Errorf("another batch: objects %q", store.names())
	}
	if got, want := read(t, store, archive.ReadOptions{}), "a@1 a@3 b@2"; got != want {
		t.Errorf("read back %s, want %s", got, want)
	}
}

// If a batch is written again, the sink replaces a damaged object.
func TestLog_DamagedObject(t *testing.T) {
	batch := changes(t, line("INSERT", "a", 1, ""), line("INSERT", "b", 2, ""))
	for _, format := range []archive.Format{archive.JSONLZstd, archive.JSONLGzip, archive.Parquet} {
		store := &memory{}
		s := newSink(t, archive.Options{Store: store, Format: format})
		mustWrite(t, s, batch...)
		name := store.names()[0]
		body := bytes.Clone(store.objects[name])
		for _, damaged := range [][]byte{body[:len(body)/2], {}, bytes.Repeat([]byte("x"), len(body))} {
			store.objects[name] = damaged
			mustWrite(t, s, batch...)
			if !bytes.Equal(store.objects[name], body) {
				t.Errorf("%v: the object has %q", format, store.objects[name])
			}
		}
	}
}

// Another version of a compressor may write the same lines in other bytes. The sink does not replace such an object. It
// also leaves an object that must be restored before it can be read.
func TestLog_OtherCompression(t *testing.T) {
	batch := changes(t, line("INSERT", "a", 1, ""), line("INSERT", "b", 2, ""))
	for format, recompress := range map[archive.Format]func(*memory, string) []byte{
		archive.JSONLZstd: func(m *memory, name string) []byte {
			w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
			if err != nil {
				t.Fatal(err)
			}
			text := m.text(t, name)
			return w.EncodeAll([]byte(text[10:]), w.EncodeAll([]byte(text[:10]), nil))
		},
		archive.JSONLGzip: func(m *memory, name string) []byte {
			r, err := gzip.NewReader(bytes.NewReader(m.objects[name]))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			w, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(w, r)
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		},
		archive.Parquet: func(m *memory, name string) []byte {
			return bytes.Replace(m.objects[name], []byte("(build parquet)"), []byte("(build PARQUET)"), 1)
		},
	} {
		store := &memory{frozen: make(map[string]bool), class: make(map[string]string)}
		s := newSink(t, archive.Options{Store: store, Format: format})
		mustWrite(t, s, batch...)
		name := store.names()[0]
		other := recompress(store, name)
		if bytes.Equal(other, store.objects[name]) {
			t.Fatalf("%s: the bytes are the same", format)
		}
		store.objects[name] = other
		mustWrite(t, s, batch...)
		store.frozen[name] = true
		store.objects[name] = other[:len(other)-1]
		mustWrite(t, s, batch...)
		if len(store.put) != 1 {
			t.Errorf("%s: the object was replaced", format)
		}
	}
}

// noConditions is a store on a server that ignores If-Match.
type noConditions struct{ *memory }

func (noConditions) Replace(context.Context, archive.Object, archive.Stored) error {
	return pipeline.Fatal(fmt.Errorf("the server %w", archive.ErrNoConditions))
}

// If the server cannot replace an object on a condition, only the changes of a damaged object fail. The pipeline
// continues, and their dead letters keep the changes.
func TestLog_DamagedObjectIsNotReplaceable(t *testing.T) {
	a, b := changes(t, line("INSERT", "a", 1, "")), changes(t, line("INSERT", "b", 2, ""))
	store := noConditions{&memory{}}
	s := newSink(t, archive.Options{Store: store})
	mustWrite(t, s, a...)
	mustWrite(t, s, a...)
	name := store.names()[0]
	store.objects[name] = store.objects[name][:10]
	_, err := write(t, s, a...)
	_, retryable := pipeline.Retryable(err)
	if retryable || pipeline.IsFatal(err) || err == nil || !strings.Contains(err.Error(), name+" is damaged") || !strings.Contains(err.Error(), "redrive") {
		t.Errorf("a damaged object: %v", err)
	}
	mustWrite(t, s, b...)
}

// A compaction has no dead letters: if its object is there already and is damaged, the message says to compact again.
func TestCompact_DamagedObjectIsNotReplaceable(t *testing.T) {
	m := &memory{}
	s := newSink(t, archive.Options{Store: m})
	mustWrite(t, s, changes(t, line("INSERT", "a", 1, ""))...)
	mustWrite(t, s, changes(t, line("INSERT", "b", 2, ""))...)
	small := m.names()
	mustWrite(t, s, changes(t, line("INSERT", "a", 1, ""), line("INSERT", "b", 2, ""))...)
	large := slices.DeleteFunc(m.names(), func(name string) bool { return slices.Contains(small, name) })[0]
	m.objects[large] = m.objects[large][:10]
	m.class = map[string]string{large: "STANDARD_IA"}
	_, err := archive.Compact(t.Context(), archive.CompactOptions{Store: compactable{noConditions{m}, tagging{memory: m}}})
	if err == nil || !strings.Contains(err.Error(), large+" is damaged") || !strings.Contains(err.Error(), "compact again") || strings.Contains(err.Error(), "dead letter") {
		t.Errorf("compaction: %v", err)
	}
	if len(m.objects) != 3 {
		t.Errorf("%d objects are left", len(m.objects))
	}
}

// compactable is a store that can be compacted on a server that ignores If-Match.
type compactable struct {
	noConditions
	remover tagging
}

func (s compactable) Remove(ctx context.Context, names []string) error {
	return s.remover.Remove(ctx, names)
}

// An object of one change that was cut is no success for a sink that writes it again: the sink replaces it. Readers
// fail with its name.
func TestPerItem_CutObject(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Layout: archive.PerItem, Key: parse(t, "{@key}/{@version}.json")})
	a := changes(t, line("INSERT", "a", 1, ""))
	mustWrite(t, s, a...)
	name := store.names()[0]
	whole := string(store.objects[name])
	for _, size := range []int{0, 1, len(whole) / 2, len(whole) - 2} {
		store.objects[name] = []byte(whole[:size])
		want := inputs.ErrCut
		if size == 0 {
			want = inputs.ErrEmpty
		}
		for _, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
				t.Errorf("read of %d bytes: %v", size, err)
			}
		}
		mustWrite(t, s, a...)
		if got := string(store.objects[name]); got != whole {
			t.Errorf("%d bytes: the object holds %s", size, got)
		}
	}
	store.objects[name] = make([]byte, len(whole)) // as a crash of a machine can leave a file
	if mustWrite(t, s, a...); string(store.objects[name]) != whole {
		t.Errorf("zero bytes: the object holds %q", store.objects[name])
	}
	store.objects[name] = []byte("a file of others")
	if _, err := write(t, s, a...); err == nil || string(store.objects[name]) != "a file of others" {
		t.Errorf("an object of others: %v", err)
	}
}

func TestKinds(t *testing.T) {
	cs := changes(t, line("INSERT", "a", 1, ""), line("REMOVE", "b", 2, ""), line("REMOVE", "c", 3, ttl), line("EVOLVE", "d", 4, ""))
	for _, test := range []struct {
		kinds []archive.Kind
		want  string
	}{
		{nil, "written written written written"},
		{[]archive.Kind{archive.TTLDelete}, "kind kind kind written"},
		{[]archive.Kind{archive.UserDelete, archive.TTLDelete}, "kind kind written written"},
		{[]archive.Kind{archive.AnyChange}, "kind kind written written"},
	} {
		if got := mustWrite(t, newSink(t, archive.Options{Store: &memory{}, Kinds: test.kinds}), cs...); got != test.want {
			t.Errorf("kinds %v: %s, want %s", test.kinds, got, test.want)
		}
	}
}

func TestPerItem(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Prefix: "old/", Layout: archive.PerItem, Key: parse(t, "{Type}/{PK}/{@version}.json")})
	rec := line("REMOVE", "a/b", 7, ttl)
	d := pipeline.Delivery{Change: changes(t, rec)[0]}
	if err := s.Plan(&d); err != nil {
		t.Fatal(err)
	}
	name := "old/_none/a%2Fb/" + versionOf(7) + ".json"
	if got, want := d.Ops[0].String(), "create object "+name+" (ttl_delete)"; got != want {
		t.Errorf("op %q, want %q", got, want)
	}
	cs := changes(t, rec, rec)
	if got := mustWrite(t, s, cs...); got != "written written" {
		t.Errorf("outcomes %s", got)
	}
	if got := store.text(t, name); got != rec+"\n" {
		t.Errorf("the object holds %s", got)
	}

	// The Streams API spells the same record differently. The sink still recognizes that the object exists already.
	again := strings.NewReplacer(`"type"`, `"Type"`, `"principalId"`, `"PrincipalId"`, `,"eventSourceARN":"`+arn+`"`, "").Replace(rec)
	mustWrite(t, s, change(t, again, record.DecoderOptions{StreamARN: arn}))
	if got := store.text(t, name); got != rec+"\n" {
		t.Errorf("after the same record from elsewhere the object holds %s", got)
	}
	if got, want := read(t, store, archive.ReadOptions{}), "a%2Fb@7"; got != want {
		t.Errorf("read back %s, want %s", got, want)
	}
}

// Kinesis can contain copies of a change with different sequence numbers. The copies have one object together, and
// another change of the same microsecond has another object.
func TestPerItem_KinesisCopies(t *testing.T) {
	rec := func(id, sequence string) *record.Change {
		inner := `{"eventID":"` + id + `","eventName":"INSERT","tableName":"Music","dynamodb":{"ApproximateCreationDateTime":1795251660123456,` +
			`"ApproximateCreationDateTimePrecision":"MICROSECOND","Keys":{"Artist":{"S":"Acme"}},"NewImage":{"Artist":{"S":"Acme"}},"SizeBytes":59}}`
		return change(t, `{"eventID":"shardId-6:`+sequence+`","eventSourceARN":"arn:aws:kinesis:us-east-1:111122223333:stream/music","kinesis":{"sequenceNumber":"`+sequence+
			`","data":"`+base64.StdEncoding.EncodeToString([]byte(inner))+`"}}`, record.DecoderOptions{})
	}
	for _, images := range []archive.LineFormat{archive.DynamoDBJSON, archive.PlainJSON} {
		store := &memory{}
		s := newSink(t, archive.Options{Store: store, Layout: archive.PerItem, Images: images, Key: parse(t, "{@key}/{@version}.json")})
		for _, c := range []*record.Change{rec("a", "49"), rec("a", "57"), rec("b", "58"), rec("a", "61")} {
			mustWrite(t, s, c)
		}
		if names := store.names(); len(names) != 2 {
			t.Errorf("%s: two changes are the objects %s", images, names)
		}
	}
}

// If two changes have the same name, the archive keeps the first change, and the second change fails permanently.
func TestPerItemNamesThatAreNotUnique(t *testing.T) {
	for _, images := range []archive.LineFormat{archive.DynamoDBJSON, archive.PlainJSON} {
		store := &memory{}
		s := newSink(t, archive.Options{Store: store, Layout: archive.PerItem, Images: images, Key: parse(t, "{Type}/{@version}.json")})
		cs := changes(t, line("REMOVE", "a", 1, ""), line("REMOVE", "b", 1, ""), line("REMOVE", "c", 1, ""))
		mustWrite(t, s, cs[0])
		for _, c := range cs[1:] {
			_, err := write(t, s, c)
			failed, ok := errors.AsType[*pipeline.BatchError](err)
			if !ok || failed.Failed[0] == nil || !strings.Contains(err.Error(), "{@version}") {
				t.Errorf("%s: error %v", images, err)
			}
			if _, retry := pipeline.Retryable(failed.Failed[0]); retry {
				t.Errorf("%s: %v is to be tried again", images, err)
			}
		}
		mustWrite(t, s, cs[0])
		if got, want := read(t, store, archive.ReadOptions{}), "a@1"; got != want {
			t.Errorf("%s: read back %s, want %s", images, got, want)
		}
	}
}

// Names of very long keys are not longer than S3 allows, and different keys still have different names.
func TestLongNames(t *testing.T) {
	store := &memory{}
	long := strings.Repeat("k", 2000)
	s := newSink(t, archive.Options{Store: store, Layout: archive.PerItem, Key: parse(t, "{PK}/{@version}.json")})
	mustWrite(t, s, changes(t, line("REMOVE", long, 1, ""), line("REMOVE", long, 2, ""), line("REMOVE", long+"x", 1, ""))...)
	p := newSink(t, archive.Options{Store: store, Partition: parse(t, "pk={PK}")})
	mustWrite(t, p, changes(t, line("INSERT", long, 3, ""), line("INSERT", long+"x", 3, ""))...)
	if len(store.objects) != 5 {
		t.Errorf("%d objects, want 5", len(store.objects))
	}
	for name := range store.objects {
		if len(name) > 1024 {
			t.Errorf("a name has %d bytes: %s", len(name), name)
		}
	}
}

func TestPlainLines(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store, Images: archive.PlainJSON})
	mustWrite(t, s, changes(t, line("REMOVE", "a", 1, ttl), line("INSERT", "b", 2, ""))...)
	want := `{"key":"a","version":"` + versionOf(1) + `","op":"REMOVE","kind":"ttl_delete","time":"2026-01-02T01:00:00Z","sequence":"1","event_id":"e1","stream_arn":"` + arn + `","table":"shop","identity":{"type":"Service","principal_id":"dynamodb.amazonaws.com"},"keys":{"PK":"a"}}
{"key":"b","version":"` + versionOf(2) + `","op":"INSERT","kind":"change","time":"2026-01-02T02:00:00Z","sequence":"2","event_id":"e2","stream_arn":"` + arn + `","table":"shop","keys":{"PK":"b"},"new":{"PK":"b","n":1.5}}
`
	if got := store.text(t, store.names()[0]); got != want {
		t.Errorf("lines\n%s, want\n%s", got, want)
	}
	for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
		if err != nil || e.Change != nil {
			t.Errorf("entry %+v (%v)", e, err)
		}
	}
}

func TestFailures(t *testing.T) {
	refused := pipeline.Transient(errors.New("refused"))
	for _, o := range []archive.Options{{}, {Layout: archive.PerItem, Key: parse(t, "{PK}")}} {
		o.Store = &memory{fail: refused}
		_, err := write(t, newSink(t, o), changes(t, line("INSERT", "a", 1, ""), line("INSERT", "b", 1, ""))...)
		failed, ok := errors.AsType[*pipeline.BatchError](err)
		if !ok || len(failed.Failed) != 2 || !errors.Is(failed.Failed[0], refused) || !errors.Is(failed.Failed[1], refused) {
			t.Errorf("layout %q: error %v", o.Layout, err)
		}
	}
}

func TestNew(t *testing.T) {
	key := parse(t, "{@key}")
	for want, o := range map[string]archive.Options{
		"Store":                     {},
		`Layout "tree"`:             {Store: &memory{}, Layout: "tree"},
		`Images "xml"`:              {Store: &memory{}, Images: "xml"},
		`Kinds holds "delete"`:      {Store: &memory{}, Kinds: []archive.Kind{"delete"}},
		"Key is nil":                {Store: &memory{}, Layout: archive.PerItem},
		"Partition belongs":         {Store: &memory{}, Layout: archive.PerItem, Key: key, Partition: key},
		"RawNames belongs":          {Store: &memory{}, RawNames: true},
		"cannot replace objects":    {Store: putOnly{&memory{}}, Layout: archive.PerItem, Key: key},
		"is the same for all items": {Store: &memory{}, Layout: archive.PerItem, Key: parse(t, "{@op}.json")},
		"Key ends in .zst":          {Store: &memory{}, Layout: archive.PerItem, Key: parse(t, "{@key}.jsonl.zst")},
		"Key belongs to the layout": {Store: &memory{}, Key: key},
		"Columns belong":            {Store: &memory{}, Columns: []archive.Column{{Name: "a", Value: key}}},
		`"Actor" is not a name`:     {Store: &memory{}, Format: archive.Parquet, Columns: []archive.Column{{Name: "Actor", Value: key}}},
		`has a column "key"`:        {Store: &memory{}, Format: archive.Parquet, Columns: []archive.Column{{Name: "key", Value: key}}},
		`"a" is there twice`:        {Store: &memory{}, Format: archive.Parquet, Columns: []archive.Column{{Name: "a", Value: key}, {Name: "a", Value: key}}},
		`of "a" is nil`:             {Store: &memory{}, Format: archive.Parquet, Columns: []archive.Column{{Name: "a"}}},
		"Roll is negative":          {Store: &memory{}, Roll: archive.RollLimits{Age: -1}},
	} {
		if _, err := archive.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}

func TestRouteSettings(t *testing.T) {
	log := newSink(t, archive.Options{Store: &memory{}, Roll: archive.RollLimits{Bytes: 64e6, Age: 5}})
	if got, want := log.Batch(), (pipeline.Batch{Count: 1 << 20, Bytes: 64e6, Linger: 5, Fill: true}); got != want || log.Concurrency() != 1 {
		t.Errorf("the log's batch is %+v, and its concurrency %d", got, log.Concurrency())
	}
	if got := newSink(t, archive.Options{Store: &memory{}}).Batch(); got.Bytes != 8<<20 || got.Linger != 0 {
		t.Errorf("by default the log's batch is %+v", got)
	}
	items := newSink(t, archive.Options{Store: &memory{}, Layout: archive.PerItem, Key: parse(t, "{@key}")})
	if items.Batch() != (pipeline.Batch{}) || items.Concurrency() != 0 {
		t.Errorf("per item the batch is %+v, and the concurrency %d", items.Batch(), items.Concurrency())
	}
}
