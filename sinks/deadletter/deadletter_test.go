package deadletter_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

func version(t testing.TB, n int) record.Version {
	t.Helper()
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040d", 1767323045, n))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAppend(t *testing.T) {
	l := pipeline.DeadLetter{
		Pipeline: "shop", Sink: "crm", Key: "a,b", Version: version(t, 5), Sequence: "5", StreamARN: "arn", Table: "shop", Partition: "shard-1", Index: 3,
		Class: "write", Error: `refused: <"no">`, Raw: []byte("{ \"a\" : [1,\n 2.50, \"<>&\"] }"), Time: time.Date(2026, 1, 2, 4, 4, 5, 6, time.FixedZone("", 3600)),
	}
	got, err := deadletter.Append([]byte("before "), &l)
	if err != nil {
		t.Fatal(err)
	}
	want := `before {"id":"` + deadletter.ID(&l) + `","pipeline":"shop","sink":"crm","class":"write","error":"refused: <\"no\">","key":"a,b","version":"` + l.Version.String() +
		`","sequence":"5","stream_arn":"arn","table":"shop","partition":"shard-1","index":3,"time":"2026-01-02T03:04:05.000000006Z","record":{"a":[1,2.50,"<>&"]}}`
	if string(got) != want {
		t.Errorf("the letter is\n%s, want\n%s", got, want)
	}
	cut := []byte("{\"Records\":[{\"eventID\"")
	got, err = deadletter.Append(nil, &pipeline.DeadLetter{Class: "undecodable", Raw: cut})
	if err != nil || !strings.HasSuffix(string(got), `"record_base64":"`+base64.StdEncoding.EncodeToString(cut)+`"}`) {
		t.Errorf("a record that is not JSON: %s (%v)", got, err)
	}
}

// Parse returns the same dead letter that Append wrote. Only white space between JSON tokens of the record can change.
func TestRoundTrip(t *testing.T) {
	texts := rapid.StringMatching(`[ -~é\n]{0,8}`)
	rapid.Check(t, func(rt *rapid.T) {
		l := pipeline.DeadLetter{
			Pipeline: texts.Draw(rt, "pipeline"), Sink: texts.Draw(rt, "sink"), Key: item.Key(texts.Draw(rt, "key")), Sequence: texts.Draw(rt, "sequence"),
			StreamARN: texts.Draw(rt, "arn"), Table: texts.Draw(rt, "table"), Partition: texts.Draw(rt, "partition"), Index: rapid.Int().Draw(rt, "index"),
			Class: "write", Error: texts.Draw(rt, "error"), Time: time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "time"), 5).UTC(),
			Raw: rapid.OneOf(
				rapid.SliceOfN(rapid.Byte(), 1, 20),
				rapid.SampledFrom([][]byte{[]byte(`{"a":"\u2028<"}`), []byte("[1e400, \n null]"), []byte(`"` + "\xff" + `"`), []byte("null"), []byte(" ")}),
			).Draw(rt, "raw"),
		}
		if rapid.Bool().Draw(rt, "versioned") {
			l.Version = version(t, rapid.IntRange(0, 9).Draw(rt, "version"))
		}
		line, err := deadletter.Append(nil, &l)
		if err != nil {
			rt.Fatal(err)
		}
		if bytes.ContainsRune(line, '\n') {
			rt.Fatalf("more than one line: %s", line)
		}
		back, id, err := deadletter.Parse(line)
		if err != nil {
			rt.Fatal(err)
		}
		if id != deadletter.ID(&l) || id != deadletter.ID(&back) {
			rt.Fatalf("the id of %s is not %s, nor %s as it is read back", line, deadletter.ID(&l), deadletter.ID(&back))
		}
		var a, b bytes.Buffer
		if json.Compact(&a, l.Raw) == nil && json.Compact(&b, back.Raw) == nil && bytes.Equal(a.Bytes(), b.Bytes()) {
			back.Raw = l.Raw
		}
		if !reflect.DeepEqual(back, l) {
			rt.Fatalf("read back\n%+v, want\n%+v", back, l)
		}
	})
}

// The ID of a dead letter depends only on the change and the sink, so it is the same in each run. If the change is not
// known, the ID depends on the record and its place.
func TestID(t *testing.T) {
	known := pipeline.DeadLetter{Sink: "crm", Key: "a", Version: version(t, 5), Class: "write", Error: "refused", Raw: []byte("{}")}
	unknown := pipeline.DeadLetter{Class: "undecodable", Error: "cut", Raw: []byte("{"), Partition: "file", Index: 1}
	keyed := pipeline.DeadLetter{Key: "a", Version: version(t, 5), Class: "undecodable", Error: "not a number", Raw: []byte(`{"N":"x"}`)}
	for _, test := range []struct {
		name   string
		of     pipeline.DeadLetter
		change func(*pipeline.DeadLetter)
		same   bool
	}{
		{"another run", known, func(l *pipeline.DeadLetter) {
			l.Time, l.Error, l.Class, l.Index, l.Partition, l.Raw = time.Now(), "later", "panic", 9, "p", []byte("{ }")
		}, true},
		{"another sink", known, func(l *pipeline.DeadLetter) { l.Sink = "other" }, false},
		{"another item", known, func(l *pipeline.DeadLetter) { l.Key = "b" }, false},
		{"another version", known, func(l *pipeline.DeadLetter) { l.Version = version(t, 6) }, false},
		{"a shifted boundary", known, func(l *pipeline.DeadLetter) { l.Sink, l.Key = "cr", "ma" }, false},
		{"another run, undecodable", unknown, func(l *pipeline.DeadLetter) { l.Time, l.Error = time.Now(), "later" }, true},
		{"another place", unknown, func(l *pipeline.DeadLetter) { l.Index = 2 }, false},
		{"another partition", unknown, func(l *pipeline.DeadLetter) { l.Partition = "other" }, false},
		{"another place, with a key", keyed, func(l *pipeline.DeadLetter) { l.Index, l.Time = 7, time.Now() }, true},
		{"another record that says to be the same", keyed, func(l *pipeline.DeadLetter) { l.Raw = []byte(`{"N":"y"}`) }, false},
		{"another record", unknown, func(l *pipeline.DeadLetter) { l.Raw = []byte("[") }, false},
	} {
		other := test.of
		test.change(&other)
		if got := deadletter.ID(&test.of) == deadletter.ID(&other); got != test.same {
			t.Errorf("%s: the same id is %v", test.name, got)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, line := range []string{"", "{", "{}", `{"id":"x"}`, `{"id":"x","class":"write","version":"1"}`, `{"id":1,"class":"write"}`} {
		if l, _, err := deadletter.Parse([]byte(line)); err == nil || !strings.HasPrefix(err.Error(), "deadletter: ") {
			t.Errorf("%q is read as %+v (%v)", line, l, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	l := pipeline.DeadLetter{Class: "write", Raw: []byte("{}")}
	line, err := deadletter.Append(nil, &l)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"id":"x","class":"write","record_base64":"AAE="}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, _, err := deadletter.Parse(b)
		if err != nil {
			return
		}
		again, err := deadletter.Append(nil, &l)
		if err != nil {
			return // RFC 3339 cannot represent the time in UTC
		}
		if _, _, err := deadletter.Parse(again); err != nil {
			t.Errorf("%s is not read back: %v", again, err)
		}
	})
}

// Parse returns the same dead letter that Append wrote for a line of a snapshot.
func TestRoundTrip_LineOfASnapshot(t *testing.T) {
	l := pipeline.DeadLetter{
		Class: "undecodable", StreamARN: "arn", Table: "shop", Raw: []byte(`{"Item":{}}`), Sinks: []string{"a", "b"},
		Snapshot: &record.SnapshotOptions{DecoderOptions: record.DecoderOptions{StreamARN: "arn", Table: "shop"}, Keys: []string{"PK", "SK"}, Layer: 3, ViewType: record.NewImage, Kinesis: true},
	}
	text, err := deadletter.Append(nil, &l)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := deadletter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := deadletter.Append(nil, &got)
	if err != nil || !bytes.Equal(text, again) || !slices.Equal(got.Sinks, l.Sinks) || got.Snapshot.Layer != 3 || got.Snapshot.ViewType != record.NewImage || !got.Snapshot.Kinesis {
		t.Errorf("%s\ncomes back as\n%s", text, again)
	}
}
