package mask_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// decodeOne decodes one record.
func decodeOne(t rapidT, b []byte, tableInKey bool) *record.Change {
	t.Helper()
	d := record.NewDecoder(record.DecoderOptions{EpochZero: true, TableInKey: tableInKey, DynamoDBLocal: true})
	p, err := d.Decode(bytes.Clone(b))
	switch {
	case err != nil:
		t.Fatal(err)
	case len(p.Changes) != 1:
		t.Fatal("not one record: ", p.Errors)
	}
	return &p.Changes[0]
}

// The item of an incremental export that was inserted and removed has no image: its masked record can be decoded, too.
func TestMask_ChangeOfRemovedExportItem(t *testing.T) {
	keys, err := item.Parse([]byte(`{"PK":{"S":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := &record.Change{Op: record.Remove, EventName: "REMOVE", ViewType: record.NewAndOldImages, Keys: keys, Key: "a",
		Sequence: "1", Backfill: true}
	masked := maskOf(t, "PK").Change(c)
	if again := decodeOne(t, masked.Raw, false); !again.Removed() || again.Key != masked.Key || masked.Backfill {
		t.Errorf("%s decodes to %s of %s", masked.Raw, again.Op, again.Key)
	}
}

// The record of a masked change decodes to that change. So a masked change can be archived and replayed like the
// original.
func TestMask_ChangeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := pipelinetest.DynamoJSON{T: t}
		d := record.NewDecoder(record.DecoderOptions{
			EpochZero: true, DynamoDBLocal: true, TableInKey: rapid.Bool().Draw(t, "table in key"),
			Table: "shop", StreamARN: rapid.SampledFrom([]string{"", "arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"}).Draw(t, "arn"),
		})
		p, err := d.Decode([]byte(g.Event(1)))
		if err != nil || len(p.Changes) != 1 {
			t.Fatal(err, p)
		}
		c := &p.Changes[0]
		hidden := rapid.SliceOfN(rapid.SampledFrom([]string{"PK", "SK", "*", "*.*", "*[*]"}), 1, 2).Draw(t, "hidden")
		m := maskOf(t, hidden...)
		masked := m.Change(c)
		if masked == c {
			return
		}
		again := decodeOne(t, masked.Raw, strings.Contains(string(c.Key), "!"))
		if what := pipelinetest.ChangeDifference(masked, again); what != "" {
			t.Fatalf("%s differs: %s", what, masked.Raw)
		}
		if masked.Version != c.Version || masked.Op != c.Op {
			t.Fatal("masking changed the version or the operation")
		}
		if _, keys := m.HiddenKey(c); keys != (masked.Key != c.Key) || masked.Key != m.Key(c) {
			t.Fatalf("a key attribute is hidden: %v; the key %s became %s", keys, c.Key, masked.Key)
		}
	})
}

func TestMask_ChangeOfKinesis(t *testing.T) {
	inner := `{"awsRegion":"eu-central-1","eventID":"b0","eventName":"MODIFY","userIdentity":null,"recordFormat":"application/json","tableName":"shop",
		"dynamodb":{"ApproximateCreationDateTime":1767323045123456,"ApproximateCreationDateTimePrecision":"MICROSECOND","Keys":{"PK":{"S":"USER#1"}},
		"NewImage":{"PK":{"S":"USER#1"},"Email":{"S":"tweety"}},"OldImage":{"PK":{"S":"USER#1"},"Email":{"S":"tweety"}},"SizeBytes":100},"eventSource":"aws:dynamodb"}`
	c := decodeOne(t, []byte(pipelinetest.KinesisEvent(inner)), false)
	m := maskOf(t, "Email").Change(c)
	if what := pipelinetest.ChangeDifference(m, decodeOne(t, m.Raw, false)); what != "" || !m.Version.Kinesis() {
		t.Errorf("%s differs: %s", what, m.Raw)
	}
	if old, _ := m.Old.Get("Email"); strings.Contains(string(m.Raw), "tweety") || plain(m.New) != `{"PK":"USER#1","Email":"***"}` || old.String() != valueOf(t, m.New, "Email").String() {
		t.Errorf("masked it is %s", m.Raw)
	}
}

func valueOf(t *testing.T, m item.Image, name string) item.Value {
	t.Helper()
	v, ok := m.Get(name)
	if !ok {
		t.Fatalf("no %s in %v", name, m.Value())
	}
	return v
}

// A masked record has nothing except the parts of the change.
func TestMask_ChangeHoldsNothingElse(t *testing.T) {
	c := decodeOne(t, []byte(`{"eventName":"SNAPSHOT","note":"tweety","dynamodb":{"SequenceNumber":"0","ApproximateCreationDateTime":1767323045.5,"note":{"x":["tweety"]},
		"Keys":{"PK":{"S":"tweety"},"SK":{"N":"7"}},"NewImage":{"PK":{"S":"tweety"},"SK":{"N":"7"},"E":{"M":{}}}}}`), false)
	m := maskOf(t, "PK").Change(c)
	if bytes.Contains(m.Raw, []byte("tweety")) || strings.Contains(string(m.Key), "tweety") || !strings.HasPrefix(string(m.Key), "masked-") || !strings.HasSuffix(string(m.Key), ",+7") {
		t.Errorf("masked it is %s: %s", m.Key, m.Raw)
	}
	if what := pipelinetest.ChangeDifference(m, decodeOne(t, m.Raw, false)); what != "" {
		t.Errorf("%s differs", what)
	}
}

func TestMask_Events(t *testing.T) {
	c := decodeOne(t, []byte(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"5","Keys":{"PK":{"S":"tweety"}},
		"OldImage":{"PK":{"S":"tweety"},"Email":{"S":"tweety"},"Tags":{"SS":["a"]},"Status":{"S":"new"},"Address":{"M":{"tweety":{"S":"x"}}}},
		"NewImage":{"PK":{"S":"tweety"},"Email":{"S":"other"},"Tags":{"SS":["a","tweety","bird"]},"Status":{"S":"paid"},"Address":{"M":{"tweety":{"S":"y"}}}}}}`), false)
	detectors := map[string]pipeline.Detector{
		"any":    rules.PathChanged(patternsOf(t, "**")...),
		"places": rules.PathChanged(patternsOf(t, "Email", "Address.*", "Status")...),
		"tagged": rules.MemberAdded(pathOf(t, "Tags")),
		"vip": pipeline.DetectorFunc(func(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
			name, _ := c.Old.Get("Email")
			return append(dst, pipeline.Event{New: name}, pipeline.Event{}), nil
		}),
	}
	for name, d := range detectors {
		es, err := d.Detect(nil, c)
		if err != nil || len(es) == 0 {
			t.Fatal(name, es, err)
		}
		for i := range es {
			es[i].Detector, es[i].Ordinal, es[i].Change = name, i, c
		}
		for _, hidden := range [][]string{{"Email", "Tags[*]", "Address"}, {"Email", "Tags", "Address", "PK"}} {
			m := maskOf(t, hidden...)
			got := m.Delivery(&pipeline.Delivery{Change: c, Events: es})
			for i, e := range got.Events {
				if text := e.Path + e.Old.String() + e.New.String(); strings.Contains(text, "tweety") && !(name == "any" && len(hidden) == 3) {
					t.Errorf("%s, hiding %q: %s", name, hidden, text)
				}
				switch keyHidden := len(hidden) == 4; {
				case e.Change != got.Change || e.Old.Exists() != es[i].Old.Exists() || e.New.Exists() != es[i].New.Exists():
					t.Errorf("%s: the event is %+v", name, e)
				case keyHidden && e.ID() != pipeline.EventID(got.Change, name, i), !keyHidden && e.ID() != es[i].ID():
					t.Errorf("%s, hiding %q: event %d has the id %s", name, hidden, i, e.ID())
				}
				if e.Path == "Status" && e.New.String() != `{"S":"paid"}` {
					t.Errorf("an open value is masked: %v", e.New)
				}
			}
		}
		if es[0].Change != c || es[0].ID() != pipeline.EventID(c, name, 0) {
			t.Error("the events that were given are changed")
		}
	}
}

func TestExplanation_Masked(t *testing.T) {
	c := decodeOne(t, []byte(`{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"5","Keys":{"PK":{"S":"USER#1"}},
		"OldImage":{"PK":{"S":"USER#1"},"Contacts":{"M":{"tweety":{"S":"x"}}},"Plan":{"S":"a"}},
		"NewImage":{"PK":{"S":"USER#1"},"Contacts":{"M":{"tweety":{"S":"y"}}},"Plan":{"S":"b"}}}}`), false)
	x := pipeline.Explanation{Change: c, Diff: item.Diff(c.Old, c.New)}
	got := maskOf(t, "Contacts").Explanation(x)
	if len(got.Diff) != 2 || got.Diff[0].Path != "Contacts" || got.Diff[0].Old.Equal(got.Diff[0].New) || got.Diff[1].Path != "Plan" {
		t.Errorf("the differences are %+v", got.Diff)
	}
	if same := maskOf(t, "Phone").Explanation(x); same.Change != c || len(same.Diff) != 2 || same.Diff[0].Path != "Contacts.tweety" {
		t.Errorf("nothing is hidden, and the differences are %+v", same.Diff)
	}
}

func pathOf(t *testing.T, text string) item.Path {
	t.Helper()
	p, err := item.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
