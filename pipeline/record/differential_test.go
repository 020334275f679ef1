package record_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// The functions below write a value or a record as one text, for each of three readers: this package, the events of
// aws-lambda-go and the SDK. Maps and sets are sorted, and numbers are canonical.

func number(s string) string {
	d, err := decimal.Parse(s)
	if err != nil {
		return err.Error()
	}
	return d.String()
}

func set(kind string, members []string) string {
	return kind + fmt.Sprintf("%q", slices.Sorted(slices.Values(members)))
}

func object(members map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		fmt.Fprintf(&b, "%q=%s;", name, members[name])
	}
	return "{" + b.String() + "}"
}

func ours(v item.Value) string {
	switch v.Kind() {
	case item.KindS:
		s, _ := v.Text()
		return fmt.Sprintf("S%q", s)
	case item.KindN:
		d, _ := v.Number()
		return "N" + d.String()
	case item.KindB:
		b, _ := v.Bytes()
		return fmt.Sprintf("B%x", b)
	case item.KindBOOL:
		b, _ := v.Bool()
		return strconv.FormatBool(b)
	case item.KindNULL:
		return "null"
	case item.KindM:
		members := map[string]string{}
		for name, m := range v.Members() {
			members[strings.Clone(name)] = ours(m)
		}
		return object(members)
	}
	var elements []string
	for i, e := range v.Elements() {
		if at, ok := v.Index(i); !ok || !at.Equal(e) {
			return fmt.Sprintf("Index(%d) is not element %d", i, i)
		}
		elements = append(elements, ours(e))
	}
	if v.Kind() == item.KindL {
		return fmt.Sprint(elements)
	}
	return set(v.Kind().String(), elements)
}

func lambdas(v events.DynamoDBAttributeValue) string {
	switch v.DataType() {
	case events.DataTypeString:
		return fmt.Sprintf("S%q", v.String())
	case events.DataTypeNumber:
		return "N" + number(v.Number())
	case events.DataTypeBinary:
		return fmt.Sprintf("B%x", v.Binary())
	case events.DataTypeBoolean:
		return strconv.FormatBool(v.Boolean())
	case events.DataTypeNull:
		return "null"
	case events.DataTypeMap:
		return lambdaItem(v.Map())
	case events.DataTypeList:
		var elements []string
		for _, e := range v.List() {
			elements = append(elements, lambdas(e))
		}
		return fmt.Sprint(elements)
	case events.DataTypeStringSet:
		return set("SS", each(v.StringSet(), func(s string) string { return fmt.Sprintf("S%q", s) }))
	case events.DataTypeNumberSet:
		return set("NS", each(v.NumberSet(), func(s string) string { return "N" + number(s) }))
	default:
		return set("BS", each(v.BinarySet(), func(b []byte) string { return fmt.Sprintf("B%x", b) }))
	}
}

func lambdaItem(m map[string]events.DynamoDBAttributeValue) string {
	members := map[string]string{}
	for name, v := range m {
		members[name] = lambdas(v)
	}
	return object(members)
}

func sdks(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("S%q", v.Value)
	case *types.AttributeValueMemberN:
		return "N" + number(v.Value)
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("B%x", v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberM:
		return sdkItem(v.Value)
	case *types.AttributeValueMemberL:
		return fmt.Sprint(each(v.Value, sdks))
	case *types.AttributeValueMemberSS:
		return set("SS", each(v.Value, func(s string) string { return fmt.Sprintf("S%q", s) }))
	case *types.AttributeValueMemberNS:
		return set("NS", each(v.Value, func(s string) string { return "N" + number(s) }))
	case *types.AttributeValueMemberBS:
		return set("BS", each(v.Value, func(b []byte) string { return fmt.Sprintf("B%x", b) }))
	}
	return fmt.Sprintf("%T", v)
}

func sdkItem(m map[string]types.AttributeValue) string {
	members := map[string]string{}
	for name, v := range m {
		members[name] = sdks(v)
	}
	return object(members)
}

func each[T any](ts []T, f func(T) string) []string {
	out := []string{}
	for _, t := range ts {
		out = append(out, f(t))
	}
	return out
}

func image(m item.Image) string {
	if !m.Exists() {
		return "{}"
	}
	members := map[string]string{}
	for name, v := range m.All() {
		if got, ok := m.Get(name); !ok || !got.Equal(v) {
			return "Get does not find " + name
		}
		members[strings.Clone(name)] = ours(v)
	}
	return object(members)
}

func decodeAll(t *rapid.T, input string) []record.Change {
	page, err := record.NewDecoder(record.DecoderOptions{StreamARN: pipelinetest.StreamARN}).Decode([]byte(input))
	if err != nil || len(page.Errors) > 0 {
		t.Fatalf("%v %v\n%s", err, page.Errors, input)
	}
	return page.Changes
}

func TestDecodesAsLambdaEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := pipelinetest.DynamoJSON{T: t}.Event(rapid.IntRange(1, 3).Draw(t, "records"))
		var event events.DynamoDBEvent
		if err := json.Unmarshal([]byte(input), &event); err != nil {
			t.Fatal(err)
		}
		changes := decodeAll(t, input)
		if len(changes) != len(event.Records) {
			t.Fatalf("%d changes of %d records", len(changes), len(event.Records))
		}
		for i, r := range event.Records {
			identity := events.DynamoDBUserIdentity{}
			if r.UserIdentity != nil {
				identity = *r.UserIdentity
			}
			want := fmt.Sprintln(r.EventID, r.EventName, r.AWSRegion, identity, r.Change.SequenceNumber, r.Change.SizeBytes, r.Change.StreamViewType,
				r.Change.ApproximateCreationDateTime.UTC(), lambdaItem(r.Change.Keys), lambdaItem(r.Change.NewImage), lambdaItem(r.Change.OldImage))
			if got := summary(&changes[i]); got != want {
				t.Fatalf("record %d\n got %s\nwant %s", i, got, want)
			}
		}
	})
}

func summary(c *record.Change) string {
	return fmt.Sprintln(c.EventID, c.EventName, c.Region, c.Identity, c.Sequence, c.SizeBytes, c.ViewType, c.Time, image(c.Keys), image(c.New), image(c.Old))
}

// answers is an HTTP client that always returns the same body.
type answers struct{ body string }

func (a *answers) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(strings.NewReader(a.body)),
	}, nil
}

func TestDecodesAsTheSDK(t *testing.T) {
	wire := &answers{}
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-west-1", HTTPClient: wire, Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{},
	})
	rapid.Check(t, func(t *rapid.T) {
		wire.body = pipelinetest.DynamoJSON{T: t}.Event(rapid.IntRange(1, 3).Draw(t, "records"))
		out, err := client.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("i")})
		if err != nil {
			t.Fatal(err)
		}
		changes := decodeAll(t, wire.body)
		if len(changes) != len(out.Records) {
			t.Fatalf("%d changes of %d records", len(changes), len(out.Records))
		}
		for i, r := range out.Records {
			identity := record.Identity{}
			if r.UserIdentity != nil {
				identity = record.Identity{Type: aws.ToString(r.UserIdentity.Type), PrincipalID: aws.ToString(r.UserIdentity.PrincipalId)}
			}
			d := r.Dynamodb
			want := fmt.Sprintln(aws.ToString(r.EventID), r.EventName, aws.ToString(r.AwsRegion), identity, aws.ToString(d.SequenceNumber), aws.ToInt64(d.SizeBytes), d.StreamViewType,
				d.ApproximateCreationDateTime.UTC(), sdkItem(d.Keys), sdkItem(d.NewImage), sdkItem(d.OldImage))
			if got := summary(&changes[i]); got != want {
				t.Fatalf("record %d\n got %s\nwant %s", i, got, want)
			}
		}
	})
}

// Values read back equal from both encoders, however they were spelled. A plain JSON number is exact.
func TestEncodersReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := pipelinetest.DynamoJSON{T: t}
		m, err := item.Parse([]byte(g.Item(6, 4)))
		if err != nil {
			t.Fatal(err)
		}
		compact := m.AppendDynamoDBJSON(nil)
		again, err := item.Parse(compact)
		if err != nil || !again.Equal(m) || !m.Clone().Equal(again) || image(again) != image(m) {
			t.Fatalf("%v\n%s\n%s", err, compact, image(m))
		}
		if !bytes.Equal(again.AppendDynamoDBJSON(nil), compact) {
			t.Fatal("a second round differs")
		}
		d := json.NewDecoder(bytes.NewReader(m.AppendJSON(nil)))
		d.UseNumber()
		var item map[string]any
		if err := d.Decode(&item); err != nil {
			t.Fatal(err)
		}
		for name, v := range m.All() {
			if got, want := jsonText(item[name]), plainText(v); got != want {
				t.Fatalf("%q: got %s, want %s", name, got, want)
			}
		}
	})
}

// jsonText returns the text of a decoded plain JSON value. plainText returns the same text for an item value.
func jsonText(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case string:
		return strconv.Quote(v)
	case []any:
		return fmt.Sprint(each(v, jsonText))
	case map[string]any:
		members := map[string]string{}
		for name, m := range v {
			members[name] = jsonText(m)
		}
		return object(members)
	}
	return fmt.Sprint(v)
}

func plainText(v item.Value) string {
	switch v.Kind() {
	case item.KindS:
		s, _ := v.Text()
		return strconv.Quote(s)
	case item.KindN:
		d, _ := v.Number()
		return d.String()
	case item.KindB:
		b, _ := v.Bytes()
		return strconv.Quote(base64.StdEncoding.EncodeToString(b))
	case item.KindBOOL:
		b, _ := v.Bool()
		return strconv.FormatBool(b)
	case item.KindNULL:
		return "<nil>"
	case item.KindM:
		members := map[string]string{}
		for name, m := range v.Members() {
			members[strings.Clone(name)] = plainText(m)
		}
		return object(members)
	}
	elements := []string{}
	for _, e := range v.Elements() {
		elements = append(elements, plainText(e))
	}
	return fmt.Sprint(elements)
}
