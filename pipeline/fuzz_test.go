package pipeline_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
)

// decoderOptions are the options that fuzzed input is read with.
func decoderOptions() []pipeline.DecoderOptions {
	return []pipeline.DecoderOptions{
		{},
		{StreamARN: streamARN, EpochZero: true, TableInKey: true, DynamoDBLocal: true, Shard: "shardId-1"},
	}
}

func addSeeds(f *testing.F) {
	f.Add([]byte(modify))
	f.Add([]byte(`{"Records":[` + modify + `,` + ttlDelete + `],"NextShardIterator":"next"}`))
	f.Add([]byte(`[` + insert + "\n," + kinesisEvent(microsecondRecord) + `]`))
	f.Add([]byte("\xef\xbb\xbf" + insert + "\r\n\r\n" + `{"dynamodb":{"Keys":{"PK":{"S":1}}}}` + "\n" + insert[:80] + "\n" + modify))
	f.Add([]byte(`{"dynamodb":{"Keys":{"a":{"N":"1E5"},"b":{"B":"AA=="}},"SequenceNumber":"1","NewImage":{"m":{"M":{"":{},"l":{"L":[{"SS":["\u00e9"]},{"NS":["1","2.0"]},{"BOOL":true},{"NULL":true}]}}}}},"eventName":"X"}`))
}

// checkPage holds a page against what every page promises.
func checkPage(t *testing.T, d *pipeline.Decoder, page *pipeline.DecodedPage) {
	t.Helper()
	indexes := map[int]bool{}
	for _, e := range page.Errors {
		if e.Err == nil || len(e.Raw) == 0 || e.Offset < 0 || e.Error() == "" || indexes[e.Index] {
			t.Fatalf("an error without a place: %+v", e)
		}
		indexes[e.Index] = true
	}
	for i := range page.Changes {
		c := &page.Changes[i]
		if indexes[int(c.Index)] {
			t.Fatalf("index %d is given twice", c.Index)
		}
		indexes[int(c.Index)] = true
		checkChange(t, d, c)
	}
	for i := range len(indexes) {
		if !indexes[i] {
			t.Fatalf("no record has index %d", i)
		}
	}
}

func checkChange(t *testing.T, d *pipeline.Decoder, c *pipeline.Change) {
	t.Helper()
	if _, _, err := c.Key.Decode(); err != nil || c.Version.IsZero() || c.Sequence == "" || !c.Keys.Exists() {
		t.Fatalf("key %q: %v, version %v", c.Key, err, c.Version)
	}
	if v, err := pipeline.ParseVersion(c.Version.String()); err != nil || v != c.Version {
		t.Fatalf("version %v: %v %v", c.Version, v, err)
	}
	clone := c.Clone()
	for i, m := range []pipeline.Image{c.Keys, c.Old, c.New} {
		if copied := []pipeline.Image{clone.Keys, clone.Old, clone.New}[i]; !copied.Equal(m) {
			t.Fatalf("the clone's image %d differs", i)
		}
		if m.Exists() {
			checkImage(t, m)
		}
	}
	// The raw record alone is the same change, and so is one that is written of its fields.
	for _, b := range [][]byte{clone.Raw, pipeline.AppendRecord(nil, c)} {
		again, err := d.Decode(b)
		if err != nil || len(again.Changes) != 1 {
			t.Fatalf("%s does not decode: %v %v", b, err, again.Errors)
		}
		if r := &again.Changes[0]; r.Key != c.Key || r.Version != c.Version || r.Op != c.Op || !r.Old.Equal(c.Old) || !r.New.Equal(c.New) || r.Time != c.Time {
			t.Fatalf("%s is another change:\n%+v\n%+v", b, r, c)
		}
	}
}

// checkImage fails unless all getters of an image agree with each other.
func checkImage(t *testing.T, m pipeline.Image) {
	t.Helper()
	again, err := pipeline.ParseImage(m.AppendDynamoDBJSON(nil))
	if err != nil || !again.Equal(m) || !m.Equal(again) {
		t.Fatalf("%s does not read back: %v", m.AppendDynamoDBJSON(nil), err)
	}
	if plain := m.AppendJSON(nil); !json.Valid(plain) {
		t.Fatalf("not JSON: %s", plain)
	}
	n := 0
	for name, v := range m.All() {
		if got, ok := m.Get(name); !ok || !got.Equal(v) || !v.Exists() || !v.Clone().Equal(v) {
			t.Fatalf("attribute %q is not found, or not equal to itself", name)
		}
		walk(v)
		n++
	}
	if m.Len() != n {
		t.Fatalf("Len %d of %d attributes", m.Len(), n)
	}
}

// walk calls every getter below v.
func walk(v pipeline.Value) {
	v.Text()
	v.Number()
	v.Bytes()
	v.Bool()
	v.Len()
	for name, m := range v.Members() {
		v.Get(name)
		walk(m)
	}
	for i, e := range v.Elements() {
		v.Index(i)
		walk(e)
	}
}

func FuzzDecoder(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range decoderOptions() {
			d := pipeline.NewDecoder(o)
			page, err := d.Decode(b)
			if broken, ok := errors.AsType[*pipeline.FramingError](err); err != nil && (!ok || broken.Offset < 0 || broken.Offset > int64(len(b)) || broken.Err == nil) {
				t.Fatalf("%v", err)
			}
			if err == nil && !json.Valid([]byte(strings.TrimPrefix(string(b), "\xef\xbb\xbf"))) {
				t.Fatal("broken JSON passed")
			}
			checkPage(t, d, page)
		}
	})
}

func FuzzDecodeLines(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(modify + "\n" + modify + "\n" + insert + "\n" + ttlDelete + "\n" + modify))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range decoderOptions() {
			d := pipeline.NewDecoder(o)
			page := d.DecodeLines(b)
			checkPage(t, d, page)
			checkAlone(t, o, b)
			// A line more changes nothing of those before.
			more := d.DecodeLines(append(append([]byte{}, b...), "\n"+insert...))
			if len(more.Errors)+len(more.Changes) != len(page.Errors)+len(page.Changes)+1 {
				t.Fatalf("%d errors and %d changes, and with a sound line more %d and %d", len(page.Errors), len(page.Changes), len(more.Errors), len(more.Changes))
			}
		}
	})
}

func FuzzDecodeAnswer(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(`{"Records":[],"NextShardIterator":null,"MillisBehindLatest":0}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range decoderOptions() {
			d := pipeline.NewDecoder(o)
			answer, err := d.DecodeAnswer(b)
			checkPage(t, d, answer.Page)
			if err != nil {
				if _, ok := errors.AsType[*pipeline.FramingError](err); !ok || answer.Ended || answer.NextIterator != "" {
					t.Fatalf("%v %+v", err, answer)
				}
				continue
			}
			if !json.Valid(b) || answer.Ended != (answer.NextIterator == "") {
				t.Fatalf("%+v of %q", answer, b)
			}
		}
	})
}

func FuzzParseImage(f *testing.F) {
	f.Add([]byte(`{"S":{"S":"x"},"N":{"N":"-1.50E+3"},"B":{"B":"AAE="},"T":{"BOOL":true},"0":{"NULL":true},"M":{"M":{"a":{"S":"\ud83e\udd8a"}}},"L":{"L":[{"N":"1"}]},"SS":{"SS":["a","b"]},"NS":{"NS":["1","2"]},"BS":{"BS":["AA==","AQ=="]}}`))
	f.Add([]byte(" { } "))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := pipeline.ParseImage(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatal("broken JSON passed")
		}
		checkImage(t, m)
		if v, err := pipeline.ParseValue(m.Value().AppendDynamoDBJSON(nil)); err != nil || !v.Equal(m.Value()) {
			t.Fatalf("the image as a value: %v", err)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"Status", "Address.Lines[0].sku", `["first-name"].Tags[2]`, `a["b\"c"]`, "a..b", "[0]", "a[", `["`} {
		f.Add(s)
	}
	m, err := pipeline.ParseImage([]byte(`{"a":{"M":{"b":{"L":[{"S":"x"}]}}},"first-name":{"S":"y"}}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, found := m.Lookup(s)
		p, err := pipeline.ParsePath(s)
		if err != nil {
			if bad, ok := errors.AsType[*pipeline.PathError](err); !ok || bad.Column < 1 || bad.Column > len(s)+1 || found {
				t.Fatalf("%v, found: %v", err, found)
			}
			return
		}
		if at, ok := m.At(p); ok != found || !at.Equal(v) || p.String() != s || p.IsZero() || p.Root() == "" {
			t.Fatalf("At and Lookup differ for %q", s)
		}
	})
}
