package record_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// decoderOptions returns the options with which fuzzed input is decoded.
func decoderOptions() []record.DecoderOptions {
	return []record.DecoderOptions{
		{},
		{StreamARN: pipelinetest.StreamARN, EpochZero: true, TableInKey: true, DynamoDBLocal: true, Shard: "shardId-1"},
	}
}

func addSeeds(f *testing.F) {
	f.Add([]byte(pipelinetest.Modify))
	f.Add([]byte(`{"Records":[` + pipelinetest.Modify + `,` + pipelinetest.TTLDelete + `],"NextShardIterator":"next"}`))
	f.Add([]byte(`[` + pipelinetest.Insert + "\n," + pipelinetest.KinesisEvent(pipelinetest.MicrosecondRecord) + `]`))
	f.Add([]byte("\xef\xbb\xbf" + pipelinetest.Insert + "\r\n\r\n" + `{"dynamodb":{"Keys":{"PK":{"S":1}}}}` + "\n" + pipelinetest.Insert[:80] + "\n" + pipelinetest.Modify))
	f.Add([]byte(`{"dynamodb":{"Keys":{"a":{"N":"1E5"},"b":{"B":"AA=="}},"SequenceNumber":"1","NewImage":{"m":{"M":{"":{},"l":{"L":[{"SS":["\u00e9"]},{"NS":["1","2.0"]},{"BOOL":true},{"NULL":true}]}}}}},"eventName":"X"}`))
}

// checkPage checks the properties that every page has.
func checkPage(t *testing.T, d *record.Decoder, page *record.Page) {
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

func checkChange(t *testing.T, d *record.Decoder, c *record.Change) {
	t.Helper()
	if _, _, err := c.Key.Decode(); err != nil || c.Version.IsZero() || c.Sequence == "" || !c.Keys.Exists() {
		t.Fatalf("key %q: %v, version %v", c.Key, err, c.Version)
	}
	if v, err := record.ParseVersion(c.Version.String()); err != nil || v != c.Version {
		t.Fatalf("version %v: %v %v", c.Version, v, err)
	}
	clone := c.Clone()
	for i, m := range []item.Image{c.Keys, c.Old, c.New} {
		if copied := []item.Image{clone.Keys, clone.Old, clone.New}[i]; !copied.Equal(m) {
			t.Fatalf("the clone's image %d differs", i)
		}
		if m.Exists() {
			pipelinetest.CheckImage(t, m)
		}
	}
	// Decoding the raw record alone gives the same change. So does decoding a record written from the fields of the
	// change.
	for _, b := range [][]byte{clone.Raw, record.AppendRecord(nil, c)} {
		again, err := d.Decode(b)
		if err != nil || len(again.Changes) != 1 {
			t.Fatalf("%s does not decode: %v %v", b, err, again.Errors)
		}
		if r := &again.Changes[0]; r.Key != c.Key || r.Version != c.Version || r.Op != c.Op || !r.Old.Equal(c.Old) || !r.New.Equal(c.New) || r.Time != c.Time {
			t.Fatalf("%s is another change:\n%+v\n%+v", b, r, c)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range decoderOptions() {
			d := record.NewDecoder(o)
			page, err := d.Decode(b)
			if broken, ok := errors.AsType[*record.FramingError](err); err != nil && (!ok || broken.Offset < 0 || broken.Offset > int64(len(b)) || broken.Err == nil) {
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
	f.Add([]byte(pipelinetest.Modify + "\n" + pipelinetest.Modify + "\n" + pipelinetest.Insert + "\n" + pipelinetest.TTLDelete + "\n" + pipelinetest.Modify))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range decoderOptions() {
			d := record.NewDecoder(o)
			page := d.DecodeLines(b)
			checkPage(t, d, page)
			checkAlone(t, o, b)
			// One more line changes nothing in the lines before.
			more := d.DecodeLines(append(append([]byte{}, b...), "\n"+pipelinetest.Insert...))
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
			d := record.NewDecoder(o)
			answer, err := d.DecodeGetRecords(b)
			checkPage(t, d, answer.Page)
			if err != nil {
				if _, ok := errors.AsType[*record.FramingError](err); !ok || answer.Ended || answer.NextIterator != "" {
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
