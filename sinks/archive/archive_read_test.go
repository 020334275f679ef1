package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
)

// Read returns each change once and the versions of an item in order. This is so however the changes are cut into
// batches, repeated and spread over layouts and kinds of images.
func TestReadMerges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := &memory{}
		n := rapid.IntRange(1, 30).Draw(rt, "changes")
		all := make([]*record.Change, n)
		want := make([]string, 0, n)
		for _, pk := range []string{"a", "b", "c"} {
			for i := range all {
				if string("abc"[i%3]) == pk {
					all[i] = change(t, line("MODIFY", pk, i+1, ""), record.DecoderOptions{})
					want = append(want, fmt.Sprintf("%s@%d", pk, i+1))
				}
			}
		}
		for i := 0; i < n; {
			k := min(rapid.IntRange(1, 7).Draw(rt, "batch"), n-i)
			from := max(0, i-rapid.IntRange(0, 5).Draw(rt, "again"))
			o := archive.Options{Store: store}
			if rapid.Bool().Draw(rt, "plain") {
				o.Images = archive.PlainJSON
			}
			if rapid.Bool().Draw(rt, "per item") {
				o.Layout, o.Key, o.Prefix = archive.PerItem, parse(t, "{@key}/{@version}.json"), "items/"
			}
			mustWrite(t, newSink(t, o), all[from:i+k]...)
			i += k
		}
		if got, want := read(t, store, archive.ReadOptions{}), strings.Join(want, " "); got != want {
			rt.Fatalf("read back %s, want %s, from %q", got, want, store.names())
		}
	})
}

// Read returns the original change for every line of an archive.
func TestLinesReplay(t *testing.T) {
	pretty := "{\n  \"eventID\" : \"x \\\" y\",\r\n\t\"eventName\":\"MODIFY\", \"dynamodb\":{\"Keys\":{\"PK\":{\"S\":\"eventSourceARN\"}},\n" +
		`"NewImage":{"PK":{"S":"eventSourceARN"},"eventSourceARN":{"S":" a  b "}},"SequenceNumber":"5","StreamViewType":"NEW_IMAGE"}}`
	escaped := strings.Replace(line("INSERT", "a", 1, ""), "eventSourceARN", `\u0065ventSourceARN`, 1)
	for _, test := range []struct {
		record string
		o      record.DecoderOptions
	}{
		{line("INSERT", "a", 1, ""), record.DecoderOptions{}},
		{escaped, record.DecoderOptions{}},
		{strings.Replace(pretty, "{", `{"eventSourceARN" : null ,`, 1), record.DecoderOptions{StreamARN: arn}},
		{strings.Replace(pretty, "{", `{"eventSourceARN":"",`, 1), record.DecoderOptions{StreamARN: arn}},
		{strings.Replace(pretty, "{", `{"note":null,`, 1), record.DecoderOptions{StreamARN: arn}},
		{strings.Replace(pretty, `" a  b "}`, `" a  b "},"empty":{"M":{"x":{}}}`, 1), record.DecoderOptions{StreamARN: arn, DynamoDBLocal: true}},
		{line("REMOVE", "a", 2, ttl), record.DecoderOptions{}},
		{line("EVOLVE", "a,!", 3, ""), record.DecoderOptions{TableInKey: true}},
		{pretty, record.DecoderOptions{StreamARN: arn}},
		{pretty, record.DecoderOptions{EpochZero: true, Table: "shop"}},
	} {
		c := change(t, test.record, test.o)
		for _, f := range []archive.Format{archive.JSONLZstd, archive.JSONLGzip, archive.Parquet} {
			store := &memory{}
			mustWrite(t, newSink(t, archive.Options{Store: store, Format: f}), c)
			n := 0
			for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{TableInKey: test.o.TableInKey}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				if strings.ContainsAny(string(e.Line), "\r\n") {
					t.Errorf("%s: more than one line: %s", f, e.Line)
				}
				if !sameChange(e.Change, c) {
					t.Errorf("%s: %s is read back as %+v, want %+v", f, e.Line, e.Change, c)
				}
			}
			if n != 1 {
				t.Errorf("%s: %d changes are read back", f, n)
			}
		}
	}
}

// Read also returns the original change if the change comes from a snapshot, although its line is not a record.
func TestLinesReplay_Snapshot(t *testing.T) {
	item := `{"PK":{"S":"a"},"Total":{"N":"7"}}`
	changed := `{"Metadata":{"WriteTimestampMicros":{"N":"1767323045000001"}},"Keys":{"PK":{"S":"a"}},"NewImage":` + item + `,"OldImage":{"PK":{"S":"a"}}}`
	for _, o := range []record.SnapshotOptions{
		{DecoderOptions: record.DecoderOptions{StreamARN: arn}},
		{DecoderOptions: record.DecoderOptions{EpochZero: true, Table: "shop"}},
		{DecoderOptions: record.DecoderOptions{StreamARN: "arn:aws:kinesis:eu-west-1:123456789012:stream/shop", Table: "shop"}, Kinesis: true},
	} {
		for layer, line := range []string{`{"Item":` + item + `}`, changed} {
			o.Keys, o.Layer = []string{"PK"}, layer
			page := record.NewSnapshotDecoder(o).DecodeLines([]byte(line))
			if len(page.Errors) > 0 {
				t.Fatal(page.Errors)
			}
			store := &memory{}
			mustWrite(t, newSink(t, archive.Options{Store: store}), &page.Changes[0])
			for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				want := page.Changes[0]
				if o.Kinesis {
					want.Time = time.Time{}
				}
				if !sameChange(e.Change, &want) {
					t.Errorf("%s is read back as %+v, want %+v", e.Line, e.Change, want)
				}
			}
		}
	}
}

// sameChange reports whether two changes are equal.
func sameChange(a, b *record.Change) bool {
	return a.Key == b.Key && a.Version == b.Version && a.Op == b.Op && a.EventName == b.EventName && a.EventID == b.EventID &&
		a.StreamARN == b.StreamARN && a.Table == b.Table && a.Region == b.Region && a.Sequence == b.Sequence && a.ViewType == b.ViewType &&
		a.Identity == b.Identity && a.SizeBytes == b.SizeBytes && a.Time.Equal(b.Time) &&
		a.Keys.Equal(b.Keys) && a.New.Equal(b.New) && a.Old.Equal(b.Old)
}

func TestReadErrors(t *testing.T) {
	good := func() *memory {
		store := &memory{}
		mustWrite(t, newSink(t, archive.Options{Store: store}), changes(t, line("INSERT", "a", 1, ""), line("INSERT", "b", 1, ""))...)
		return store
	}
	for name, spoil := range map[string]func(*memory, string){
		"cut":           func(m *memory, object string) { m.objects[object] = m.objects[object][:len(m.objects[object])-5] },
		"empty":         func(m *memory, object string) { m.objects[object] = nil },
		"no zstd":       func(m *memory, object string) { m.objects[object] = []byte("text") },
		"foreign":       func(m *memory, object string) { m.objects["x.json"] = []byte(`{"some":"thing"}`) },
		"foreign plain": func(m *memory, object string) { m.objects["x.json"] = []byte(`{"key":"a","version":"no"}`) },
	} {
		store := good()
		spoil(store, store.names()[0])
		var last error
		for _, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
			last = err
		}
		if last == nil || !strings.HasPrefix(last.Error(), "archive: ") {
			t.Errorf("%s: error %v", name, last)
		}
		if name == "cut" && (!strings.Contains(last.Error(), "cut short") || !strings.Contains(last.Error(), store.names()[0])) {
			t.Errorf("%v, want \"cut short\" and the object's name", last)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range archive.Read(ctx, good(), archive.ReadOptions{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("canceled, the reading continues: %v", err)
		}
	}
	for range archive.Read(t.Context(), good(), archive.ReadOptions{}) {
		break
	}
}

// breakingStore is a store whose server breaks the connection of one object after some bytes.
type breakingStore struct {
	*memory
	object string
	after  int
	cause  error
}

func (s breakingStore) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	body, err := s.memory.Get(ctx, name)
	if name != s.object || err != nil {
		return body, err
	}
	broken := fmt.Errorf("GetObject: request send failed: %w", s.cause)
	return io.NopCloser(io.MultiReader(io.LimitReader(body, int64(s.after)), iotest.ErrReader(broken))), nil
}

// An error that wraps io.EOF is no end of an object. Its entries would be missing in what is read, and a compaction
// would remove the object. Neither is the object cut short, as the message of a broken one says.
func TestRead_AConnectionThatBreaksIsAFailure(t *testing.T) {
	for _, o := range []archive.Options{{}, {Format: archive.JSONLGzip}, {Format: archive.Parquet}} {
		store := &memory{}
		o.Store = store
		sink := newSink(t, o)
		for n := range 3 {
			mustWrite(t, sink, changes(t, line("INSERT", "a", n+1, ""), line("INSERT", "b", n+1, ""))...)
		}
		for _, object := range store.names() {
			size := len(store.objects[object])
			for _, cause := range []error{io.EOF, io.ErrUnexpectedEOF} {
				for after := 0; after < size; after += 1 + size/200 {
					var last error
					for _, err := range archive.Read(t.Context(), breakingStore{store, object, after, cause}, archive.ReadOptions{}) {
						last = err
					}
					if last == nil || strings.Contains(last.Error(), "cut short") {
						t.Fatalf("%s broke off after %d of %d bytes by %v: %v", object, after, size, cause, last)
					}
				}
			}
		}
	}
}
