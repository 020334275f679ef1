package record_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// one decodes a document that holds one valid record.
func one(t *testing.T, o record.DecoderOptions, document string) *record.Change {
	t.Helper()
	page, err := record.NewDecoder(o).Decode([]byte(document))
	if err != nil || len(page.Errors) > 0 || len(page.Changes) != 1 {
		t.Fatalf("%v %v, %d changes", err, page.Errors, len(page.Changes))
	}
	return &page.Changes[0]
}

// refused decodes a document that holds one invalid record.
func refused(t *testing.T, o record.DecoderOptions, document string) *record.RecordError {
	t.Helper()
	page, err := record.NewDecoder(o).Decode([]byte(document))
	if err != nil || len(page.Errors) != 1 || len(page.Changes) != 0 {
		t.Fatalf("%v %v, %d changes", err, page.Errors, len(page.Changes))
	}
	return page.Errors[0]
}

func TestChangeSaysWhatTheRecordSays(t *testing.T) {
	c := one(t, record.DecoderOptions{Shard: "shardId-7"}, pipelinetest.Modify)
	want := record.Change{
		Op: record.Modify, EventName: "MODIFY", Key: "USER%231,PROFILE", Keys: c.Keys, Old: c.Old, New: c.New, Version: c.Version,
		Sequence: "000000200000000005391461883", Time: time.Date(2026, 11, 21, 9, 1, 0, 0, time.UTC), EventID: "17784dc1e1f7e3a0d4aa4d4b7b42c9f8",
		StreamARN: pipelinetest.StreamARN, Table: "shop", Region: "eu-west-1", Shard: "shardId-7", ViewType: record.NewAndOldImages, SizeBytes: 119, Raw: []byte(pipelinetest.Modify),
	}
	if !reflect.DeepEqual(*c, want) {
		t.Errorf("got %+v\nwant %+v", *c, want)
	}
	if got := c.Version.String(); got != "1795251600"+"0000000000000000000200000000005391461883" {
		t.Errorf("version %s", got)
	}
	for _, m := range []struct {
		name  string
		image item.Image
		want  string
	}{
		{"Keys", c.Keys, `{"PK":"USER#1","SK":"PROFILE"}`},
		{"Old", c.Old, `{"PK":"USER#1","SK":"PROFILE","Email":"a@example.com"}`},
		{"New", c.New, `{"PK":"USER#1","SK":"PROFILE","Email":"b@example.com"}`},
	} {
		if got := string(m.image.AppendJSON(nil)); got != m.want {
			t.Errorf("%s: got %s, want %s", m.name, got, m.want)
		}
	}
}

func TestFieldOrderDoesNotMatter(t *testing.T) {
	stream := pipelinetest.Modify[strings.Index(pipelinetest.Modify, `"dynamodb"`):strings.Index(pipelinetest.Modify, `,"eventSourceARN"`)]
	moved := pipelinetest.With(pipelinetest.Modify, stream+",", "")
	c := one(t, record.DecoderOptions{}, "{"+stream+","+moved[1:])
	if d := one(t, record.DecoderOptions{}, pipelinetest.Modify); c.Key != d.Key || c.Version != d.Version || !c.New.Equal(d.New) || c.Op != d.Op {
		t.Errorf("%+v", c)
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Modify, `"eventVersion":"1.1"`, `"tags":[{"a":[1,-2.5e-3,null,true,{}]}],"eventVersion":{"x":"\u00e9"}`))
	if c.Key != "USER%231,PROFILE" {
		t.Errorf("%+v", c)
	}
}

func TestNullFieldsAreAbsent(t *testing.T) {
	c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.With(pipelinetest.Insert, `"eventID":"07784dc1e1f7e3a0d4aa4d4b7b42c9f8"`, `"eventID":null,"userIdentity":null`), `"SizeBytes":73`, `"SizeBytes":null,"OldImage":null`))
	if c.EventID != "" || c.Old.Exists() || c.SizeBytes != 0 {
		t.Errorf("%+v", c)
	}
}

func TestCreationTimes(t *testing.T) {
	want := time.Date(2026, 11, 21, 9, 1, 0, 0, time.UTC)
	for _, spelling := range []string{`1795251660`, `1795251660.0`, `1.79525166E9`, `1.79525166e+09`, `"2026-11-21T09:01:00+00:00"`, `"2026-11-21T10:01:00+01:00"`, `"2026-11-21T09:01:00Z"`} {
		c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `1795251660`, spelling))
		if c.Time != want {
			t.Errorf("%s: got %v", spelling, c.Time)
		}
	}
	if c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `1795251660`, `1795251660.25`)); c.Time != want.Add(250*time.Millisecond) {
		t.Errorf("a fraction: got %v", c.Time)
	}
	if c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `"ApproximateCreationDateTime":1795251660,`, ``)); !c.Time.IsZero() {
		t.Errorf("absent: got %v", c.Time)
	}
	// the earliest time, and one within the last valid second
	for _, spelling := range []string{`"1970-01-01T01:00:00+01:00"`, `"9999-12-31T23:59:59.5Z"`} {
		c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `1795251660`, spelling))
		if again := one(t, record.DecoderOptions{}, string(record.AppendRecord(nil, c))); again.Time != c.Time {
			t.Errorf("%s: got %v, written again %v", spelling, c.Time, again.Time)
		}
	}
	for _, spelling := range []string{`1795251660000`, `-1`, `"yesterday"`, `true`, `"1969-12-31T23:59:59Z"`, `"0000-01-01T00:00:00+01:00"`, `"9999-12-31T23:59:59-01:00"`} {
		if e := refused(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `1795251660`, spelling)); e.Path != "dynamodb.ApproximateCreationDateTime" {
			t.Errorf("%s: %v", spelling, e)
		}
	}
}

// Fact 2: ApproximateCreationDateTime is rounded down to a second. The decoded time never depends on the local time
// zone of the process.
func TestFact2_TimeIsUTC(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("far away", 13*3600)
	defer func() { time.Local = local }()
	c := one(t, record.DecoderOptions{}, pipelinetest.Insert)
	if c.Time.Location() != time.UTC || c.Time.Hour() != 9 || c.Version.String()[:10] != "1795251600" {
		t.Errorf("%v %v", c.Time, c.Version)
	}
}

// Fact 12: N has up to 38 digits and is always exact. Empty strings and empty binaries are valid. Keys may be binary.
func TestFact12_ValuesAreExact(t *testing.T) {
	c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `"Email":{"S":"a@example.com"}`,
		`"N":{"N":"-12345678901234567890123456789012345678"},"s":{"S":""},"b":{"B":""},"m":{"M":{}},"l":{"L":[]}`))
	if v, _ := c.New.Get("N"); string(v.AppendJSON(nil)) != "-12345678901234567890123456789012345678" {
		t.Errorf("%v", v)
	}
	if s, _ := c.New.Get("s"); !s.Exists() || s.Len() != 0 {
		t.Errorf("%v", s)
	}
	b, _ := c.New.Get("b")
	if got, ok := b.Bytes(); !ok || got == nil || len(got) != 0 {
		t.Errorf("%v", b)
	}
	binary := one(t, record.DecoderOptions{}, strings.ReplaceAll(pipelinetest.Insert, `{"S":"USER#1"}`, `{"B":"+/8="}`))
	if binary.Key != "=-_8,PROFILE" {
		t.Errorf("key %s", binary.Key)
	}
}

// Fact 13: the view type KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES decides which images a record must have.
func TestFact13_ViewTypes(t *testing.T) {
	keys, old, new := `"Keys":{"PK":{"S":"a"}}`, `"OldImage":{"PK":{"S":"a"}}`, `"NewImage":{"PK":{"S":"a"}}`
	for _, tt := range []struct {
		operation, view string
		images          []string
		refused         string
	}{
		{"INSERT", "KEYS_ONLY", nil, ""},
		{"MODIFY", "KEYS_ONLY", nil, ""},
		{"REMOVE", "KEYS_ONLY", nil, ""},
		{"INSERT", "NEW_IMAGE", []string{new}, ""},
		{"MODIFY", "NEW_IMAGE", []string{new}, ""},
		{"REMOVE", "NEW_IMAGE", nil, ""},
		{"INSERT", "OLD_IMAGE", nil, ""},
		{"MODIFY", "OLD_IMAGE", []string{old}, ""},
		{"REMOVE", "OLD_IMAGE", []string{old}, ""},
		{"INSERT", "NEW_AND_OLD_IMAGES", []string{new}, ""},
		{"MODIFY", "NEW_AND_OLD_IMAGES", []string{new, old}, ""},
		{"REMOVE", "NEW_AND_OLD_IMAGES", []string{old}, ""},
		{"INSERT", "NEW_AND_OLD_IMAGES", nil, "dynamodb.NewImage"},
		{"INSERT", "NEW_AND_OLD_IMAGES", []string{new, old}, "dynamodb.OldImage"},
		{"MODIFY", "NEW_AND_OLD_IMAGES", []string{old}, "dynamodb.NewImage"},
		{"MODIFY", "NEW_AND_OLD_IMAGES", []string{new}, "dynamodb.OldImage"},
		{"REMOVE", "NEW_AND_OLD_IMAGES", []string{new, old}, "dynamodb.NewImage"},
		{"REMOVE", "OLD_IMAGE", nil, "dynamodb.OldImage"},
	} {
		rec := fmt.Sprintf(`{"eventName":%q,"dynamodb":{%s,"SequenceNumber":"1","StreamViewType":%q},"eventSourceARN":%q}`,
			tt.operation, strings.Join(append([]string{keys}, tt.images...), ","), tt.view, pipelinetest.StreamARN)
		if tt.refused != "" {
			if e := refused(t, record.DecoderOptions{}, rec); e.Path != tt.refused || e.Key != "a" || e.Version.IsZero() {
				t.Errorf("%s of %s: %+v", tt.operation, tt.view, e)
			}
			continue
		}
		c := one(t, record.DecoderOptions{}, rec)
		has := strings.Join(tt.images, " ")
		if c.ViewType.String() != tt.view || c.Old.Exists() != strings.Contains(has, "OldImage") || c.New.Exists() != strings.Contains(has, "NewImage") {
			t.Errorf("%s of %s: %+v", tt.operation, tt.view, c)
		}
	}
}

// Fact 14: the identity of a TTL delete is spelled userIdentity.type/principalId in Lambda JSON and Type/PrincipalId in
// the Streams API.
func TestFact14_IdentityOfTTLDeletes(t *testing.T) {
	api := pipelinetest.With(pipelinetest.With(pipelinetest.TTLDelete, `"type"`, `"Type"`), `"principalId"`, `"PrincipalId"`)
	for _, rec := range []string{pipelinetest.TTLDelete, api} {
		c := one(t, record.DecoderOptions{}, rec)
		if !c.TTLDelete() || !c.Removed() || c.Identity != (record.Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}) {
			t.Errorf("%+v", c)
		}
	}
	for _, entry := range []string{pipelinetest.With(pipelinetest.TTLDelete, `"Service"`, `"AssumedRole"`), pipelinetest.With(pipelinetest.TTLDelete, `"principalId":"dynamodb.amazonaws.com"`, `"principalId":"someone"`)} {
		if one(t, record.DecoderOptions{}, entry).TTLDelete() {
			t.Error("a user's delete counts as TTL's")
		}
	}
}

// Fact 15: legacy global tables add aws:rep:* attributes. They decode, and Diff ignores them.
func TestFact15_ReplicationAttributesDecode(t *testing.T) {
	c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Modify, `"Email":{"S":"b@example.com"}`,
		`"Email":{"S":"a@example.com"},"aws:rep:deleting":{"BOOL":false},"aws:rep:updatetime":{"N":"1795251660.123001"},"aws:rep:updateregion":{"S":"eu-west-1"}`))
	if v, ok := c.New.Lookup(`["aws:rep:updatetime"]`); !ok || string(v.AppendJSON(nil)) != "1795251660.123001" {
		t.Errorf("%v", v)
	}
	if got := item.Diff(c.Old, c.New); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestUnknownOperations(t *testing.T) {
	// A TTL delete of DynamoDB Local has no identity and only an old image.
	local := pipelinetest.With(pipelinetest.With(pipelinetest.TTLDelete, `"REMOVE"`, `"UNKNOWN_TO_SDK_VERSION"`), `"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},`, ``)
	c := one(t, record.DecoderOptions{}, local)
	if c.Op != record.Unknown || c.EventName != "UNKNOWN_TO_SDK_VERSION" || !c.Removed() || c.TTLDelete() {
		t.Errorf("%+v", c)
	}
	both := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Modify, `"MODIFY"`, `"UPSERT"`))
	if both.Op != record.Unknown || both.Removed() {
		t.Errorf("%+v", both)
	}
	if c := one(t, record.DecoderOptions{}, pipelinetest.With(pipelinetest.Insert, `"INSERT"`, `"SNAPSHOT"`)); c.Op != record.Snapshot {
		t.Errorf("%+v", c)
	}
}

func TestStreamARNs(t *testing.T) {
	const arn = `,"eventSourceARN":"` + pipelinetest.StreamARN + `"`
	bare := pipelinetest.With(pipelinetest.Modify, arn, "")
	if e := refused(t, record.DecoderOptions{}, bare); e.Path != "eventSourceARN" || !strings.Contains(e.Error(), "--stream-arn") || e.Key != "USER%231,PROFILE" || !e.Version.IsZero() || e.Sequence == "" {
		t.Errorf("%+v", e)
	}
	if c := one(t, record.DecoderOptions{StreamARN: pipelinetest.StreamARN}, bare); c.StreamARN != pipelinetest.StreamARN || c.Table != "shop" || c.Version.String()[:10] != "1795251600" {
		t.Errorf("%+v", c)
	}
	if c := one(t, record.DecoderOptions{EpochZero: true, Table: "given"}, bare); c.Table != "given" || c.Version.String()[:10] != "0000000000" || c.Version.IsZero() {
		t.Errorf("%+v", c)
	}
	// The stream ARN of the record takes precedence over that of the options.
	other := strings.ReplaceAll(pipelinetest.StreamARN, "2026-11-21T09:00:00.000", "2027-01-01T00:00:00.999")
	if c := one(t, record.DecoderOptions{StreamARN: other}, pipelinetest.Modify); c.StreamARN != pipelinetest.StreamARN {
		t.Errorf("%+v", c)
	}
	newer := one(t, record.DecoderOptions{StreamARN: other}, pipelinetest.With(bare, "000000200000000005391461883", "7"))
	if newer.Version.Compare(one(t, record.DecoderOptions{}, pipelinetest.Modify).Version) <= 0 {
		t.Error("a later stream does not win")
	}
	for _, unsound := range []string{"stream-ARN", "arn:aws:dynamodb:eu-west-1:1:table/shop", "arn:aws:dynamodb:eu-west-1:1:table/shop/stream/now", pipelinetest.KinesisARN} {
		rec := pipelinetest.With(pipelinetest.Modify, pipelinetest.StreamARN, unsound)
		if e := refused(t, record.DecoderOptions{}, rec); e.Path != "eventSourceARN" || !strings.Contains(e.Error(), "table/NAME/stream/") {
			t.Errorf("%s: %v", unsound, e)
		}
		if c := one(t, record.DecoderOptions{EpochZero: true}, rec); c.StreamARN != unsound {
			t.Errorf("%s: %+v", unsound, c)
		}
	}
}

func TestTableInKey(t *testing.T) {
	if c := one(t, record.DecoderOptions{TableInKey: true}, pipelinetest.Modify); c.Key != "shop!USER%231,PROFILE" {
		t.Errorf("key %s", c.Key)
	}
	bare := pipelinetest.With(pipelinetest.Modify, `,"eventSourceARN":"`+pipelinetest.StreamARN+`"`, "")
	if c := one(t, record.DecoderOptions{TableInKey: true, EpochZero: true, Table: "t"}, bare); c.Key != "t!USER%231,PROFILE" {
		t.Errorf("key %s", c.Key)
	}
	if e := refused(t, record.DecoderOptions{TableInKey: true, EpochZero: true}, bare); e.Key != "" || !strings.Contains(e.Error(), "table") {
		t.Errorf("%+v", e)
	}
}

func TestUnsoundRecords(t *testing.T) {
	for _, tt := range []struct{ name, record, path, err string }{
		{"no object", `5`, "", "want a record"},
		{"empty", `{}`, "eventSourceARN", "--stream-arn"},
		{"no dynamodb", `{"eventName":"INSERT","eventSourceARN":"` + pipelinetest.StreamARN + `"}`, "dynamodb", "is missing"},
		{"no eventName", pipelinetest.With(pipelinetest.Modify, `"eventName":"MODIFY",`, ``), "eventName", "is missing"},
		{"no sequence number", pipelinetest.With(pipelinetest.Modify, `"SequenceNumber":"000000200000000005391461883",`, ``), "dynamodb.SequenceNumber", "is missing"},
		{"sequence number of letters", pipelinetest.With(pipelinetest.Modify, `000000200000000005391461883`, `12a`), "dynamodb.SequenceNumber", "40 digits"},
		{"sequence number of 41 digits", pipelinetest.With(pipelinetest.Modify, `000000200000000005391461883`, strings.Repeat("1", 41)), "dynamodb.SequenceNumber", "40 digits"},
		{"sequence number not a string", pipelinetest.With(pipelinetest.Modify, `"000000200000000005391461883"`, `1`), "dynamodb.SequenceNumber", "want a string"},
		{"no keys", pipelinetest.With(pipelinetest.Modify, `"Keys":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}},`, ``), "dynamodb.Keys", "is missing"},
		{"empty keys", pipelinetest.With(pipelinetest.Modify, `"Keys":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}}`, `"Keys":{}`), "dynamodb.Keys", "no key attributes"},
		{"three keys", pipelinetest.With(pipelinetest.Modify, `"Keys":{`, `"Keys":{"x":{"S":"y"},`), "dynamodb.Keys.SK", "more than two"},
		{"key of a kind that none is", pipelinetest.With(pipelinetest.Modify, `"PK":{"S":"USER#1"}`, `"PK":{"BOOL":true}`), "dynamodb.Keys.PK", "an S, an N or a B"},
		{"empty key", pipelinetest.With(pipelinetest.Modify, `"PK":{"S":"USER#1"}`, `"PK":{"S":""}`), "dynamodb.Keys.PK", "is empty"},
		{"new image of another item", pipelinetest.With(pipelinetest.Insert, `"NewImage":{"PK":{"S":"USER#1"}`, `"NewImage":{"PK":{"S":"USER#2"}`), "dynamodb.NewImage.PK", "another item"},
		{"old image of another item", pipelinetest.With(pipelinetest.Modify, `"OldImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}`, `"OldImage":{"SK":{"S":"profile"},"PK":{"S":"USER#1"}`), "dynamodb.OldImage.SK", "another item"},
		{"image whose key is of another kind", pipelinetest.With(pipelinetest.TTLDelete, `"OldImage":{"PK":{"S":"USER#1"}`, `"OldImage":{"PK":{"B":"USER"}`), "dynamodb.OldImage.PK", "another item"},
		{"field twice", pipelinetest.With(pipelinetest.Modify, `"eventVersion"`, `"eventName"`), "eventName", "twice"},
		{"image twice", pipelinetest.With(pipelinetest.Modify, `"OldImage"`, `"NewImage"`), "dynamodb.NewImage", "twice"},
		{"image no object", pipelinetest.With(pipelinetest.Insert, `"NewImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Email":{"S":"a@example.com"}}`, `"NewImage":[]`), "dynamodb.NewImage", "object of attributes"},
		{"dynamodb no object", `{"dynamodb":[],"eventName":"INSERT","eventSourceARN":"` + pipelinetest.StreamARN + `"}`, "dynamodb", "want an object"},
		{"size no number", pipelinetest.With(pipelinetest.Modify, `119`, `"119"`), "dynamodb.SizeBytes", "number of bytes"},
		{"identity no text", pipelinetest.With(pipelinetest.TTLDelete, `"type":"Service"`, `"type":5`), "userIdentity.type", "want a string"},
		{"envelope within", `[{"Records":[]}]`, "Records", "envelope"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := refused(t, record.DecoderOptions{}, tt.record)
			if e.Path != tt.path || !strings.Contains(e.Err.Error(), tt.err) {
				t.Errorf("got %v, want %q at %s", e, tt.err, tt.path)
			}
			if string(e.Raw) != strings.Trim(tt.record, "[]") {
				t.Errorf("raw %s", e.Raw)
			}
		})
	}
}

// The error of an invalid record has the key and the version of the record, and the other records are decoded.
func TestUnsoundRecordsAmongSound(t *testing.T) {
	bad := pipelinetest.With(pipelinetest.Modify, `"Email":{"S":"b@example.com"}`, `"Address":{"M":{"Lines":{"L":[{"S":"a"},{"S":"b"},{"N":"x"}]}}}`)
	document := `{"Records": [` + pipelinetest.Insert + `, ` + bad + `, ` + pipelinetest.TTLDelete + `]}`
	page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(document))
	if err != nil || len(page.Changes) != 2 || len(page.Errors) != 1 {
		t.Fatalf("%v, %d changes, %v", err, len(page.Changes), page.Errors)
	}
	sound := one(t, record.DecoderOptions{}, pipelinetest.Modify)
	e := page.Errors[0]
	if e.Index != 1 || page.Changes[0].Index != 0 || page.Changes[1].Index != 2 {
		t.Errorf("indexes %d %d %d", e.Index, page.Changes[0].Index, page.Changes[1].Index)
	}
	if e.Path != "dynamodb.NewImage.Address.Lines[2]" || e.Key != sound.Key || e.Version != sound.Version || e.Sequence != sound.Sequence {
		t.Errorf("%+v", e)
	}
	if e.Offset != int64(strings.Index(document, bad)) || string(e.Raw) != bad {
		t.Errorf("offset %d, raw %s", e.Offset, e.Raw)
	}
	var target *record.RecordError
	if !errors.As(error(e), &target) || errors.Unwrap(e) == nil || strings.Contains(e.Error(), "example.com") {
		t.Errorf("%v", e)
	}
}

// DynamoDB Local writes an empty map as {}. It decodes to an error or to an empty map, never to the value of a
// neighbour.
func TestEmptyMapsOfDynamoDBLocal(t *testing.T) {
	rec := pipelinetest.With(pipelinetest.Insert, `"Email":{"S":"a@example.com"}`, `"Email":{"S":"a@example.com"},"Prefs":{},"List":{"L":[{ },{"M":{"deep":{}}}]}`)
	if e := refused(t, record.DecoderOptions{}, rec); e.Path != "dynamodb.NewImage.Prefs" || !strings.Contains(e.Error(), "dynamodb-local") {
		t.Errorf("%v", e)
	}
	page, err := record.NewDecoder(record.DecoderOptions{DynamoDBLocal: true}).Decode([]byte(rec))
	if err != nil || len(page.Errors) > 0 || page.EmptyMaps != 3 {
		t.Fatalf("%v %v, %d empty maps", err, page.Errors, page.EmptyMaps)
	}
	m := page.Changes[0].New
	for _, path := range []string{"Prefs", "List[0]", "List[1].deep"} {
		if v, ok := m.Lookup(path); !ok || v.Kind() != item.KindM || v.Len() != 0 {
			t.Errorf("%s: %v", path, v)
		}
	}
	want := `{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Email":{"S":"a@example.com"},"Prefs":{"M":{}},"List":{"L":[{"M":{}},{"M":{"deep":{"M":{}}}}]}}`
	if got := string(m.AppendDynamoDBJSON(nil)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	parsed, err := item.Parse([]byte(want))
	if err != nil || !parsed.Equal(m) {
		t.Errorf("the empty maps are not equal: %v", err)
	}
}

// If an image has the key attributes, they must equal those of the record, in any place and spelling. An image without
// a key attribute is accepted.
func TestImagesAgreeWithTheirKeys(t *testing.T) {
	keys := `"Keys":{"PK":{"S":"a/b"},"SK":{"N":"10"}}`
	for _, image := range []string{
		`{"PK":{"S":"a/b"},"SK":{"N":"10"}}`,
		`{"SK":{"N":"1E1"},"x":{"S":"y"},"PK":{"S":"a\/b"}}`,
		`{"\u0050K":{"S":"a\u002fb"},"SK":{"N":"10.0"}}`,
		`{"x":{"S":"y"},"SK":{"N":"10"}}`,
		`{}`,
	} {
		rec := `{"eventName":"INSERT","eventSourceARN":"` + pipelinetest.StreamARN + `","dynamodb":{` + keys + `,"NewImage":` + image + `,"SequenceNumber":"1"}}`
		other := pipelinetest.With(rec, `"N":"10"}}`, `"N":"11"}}`)
		// The record follows others whose images have their keys in other places.
		page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(pipelinetest.Insert + "\n" + rec + "\n" + pipelinetest.Modify + "\n" + rec + "\n" + other + "\n" + rec))
		contradicts := strings.Contains(image, "SK")
		if want := map[bool]int{true: 1}[contradicts]; len(page.Errors) != want || len(page.Changes) != 6-want {
			t.Errorf("%s: %d changes, %v", image, len(page.Changes), page.Errors)
		}
	}
}
