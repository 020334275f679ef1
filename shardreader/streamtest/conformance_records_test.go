package streamtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tablewake/tablewake/shardreader"
)

// Fact 3: a no-op write makes no record. All others make one, made of these parts.
func TestFact3_Records(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		first, second := `{"PK":{"S":"ä \"b\" <c>"},"A":{"N":"1"}}`, `{"PK":{"S":"ä \"b\" <c>"},"M":{"M":{"X":{"S":""}}}}`
		s.put(t, first)
		s.put(t, first)
		s.put(t, second)
		s.remove(t, `{"PK":{"S":"ä \"b\" <c>"}}`)
		s.remove(t, `{"PK":{"S":"ä \"b\" <c>"}}`)
		arn, shard := newest(t, s)
		q := shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Iterator: position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon})}
		a := next(t, s, q)
		want := []string{
			`{"eventName":"INSERT","eventSource":"aws:dynamodb","eventVersion":"1.1","dynamodb":{"Keys":{"PK":{"S":"ä \"b\" <c>"}},"NewImage":` + first + `,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
			`{"eventName":"MODIFY","eventSource":"aws:dynamodb","eventVersion":"1.1","dynamodb":{"Keys":{"PK":{"S":"ä \"b\" <c>"}},"NewImage":` + second + `,"OldImage":` + first + `,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
			`{"eventName":"REMOVE","eventSource":"aws:dynamodb","eventVersion":"1.1","dynamodb":{"Keys":{"PK":{"S":"ä \"b\" <c>"}},"OldImage":` + second + `,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		}
		var wanted, got []map[string]any
		for _, text := range want {
			wanted = append(wanted, recordFields(t, []byte(text)))
		}
		ids := map[any]bool{}
		for _, c := range a.Page.Changes {
			r := recordFields(t, c.Raw)
			if id := fmt.Sprint(r["eventID"]); ids[id] || len(strings.ReplaceAll(id, "-", "")) != 32 {
				t.Errorf("the event id is %v", id)
			}
			ids[r["eventID"]] = true
			inner := r["dynamodb"].(map[string]any)
			if at := time.Unix(int64(inner["ApproximateCreationDateTime"].(float64)), 0); time.Since(at) < 0 || time.Since(at) > 5*time.Minute {
				t.Errorf("created at %s", at)
			}
			for _, name := range []string{"eventID", "awsRegion"} {
				if r[name] == nil {
					t.Errorf("a record without %s", name)
				}
				delete(r, name)
			}
			for _, name := range []string{"ApproximateCreationDateTime", "SequenceNumber", "SizeBytes"} {
				if inner[name] == nil {
					t.Errorf("a record without %s", name)
				}
				delete(inner, name)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}

// The SDK's own types hold the same, whichever it reads.
func TestConformance_AsTheSDKSeesIt(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		first, second := `{"PK":{"S":"a"},"A":{"N":"1"}}`, `{"PK":{"S":"a"},"M":{"M":{"X":{"S":"y"}}}}`
		s.put(t, first)
		s.put(t, second)
		s.remove(t, `{"PK":{"S":"a"}}`)
		arn, shard := newest(t, s)
		it := position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon})
		next(t, s, shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Iterator: it}) // they are there
		out, err := s.client().GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &it})
		if err != nil {
			t.Fatal(err)
		}
		key := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "a"}}
		one := map[string]types.AttributeValue{"PK": key["PK"], "A": &types.AttributeValueMemberN{Value: "1"}}
		two := map[string]types.AttributeValue{"PK": key["PK"], "M": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"X": &types.AttributeValueMemberS{Value: "y"}}}}
		type seen struct {
			Event          types.OperationType
			View           types.StreamViewType
			Keys, New, Old map[string]types.AttributeValue
		}
		want := []seen{
			{types.OperationTypeInsert, types.StreamViewTypeNewAndOldImages, key, one, nil},
			{types.OperationTypeModify, types.StreamViewTypeNewAndOldImages, key, two, one},
			{types.OperationTypeRemove, types.StreamViewTypeNewAndOldImages, key, nil, two},
		}
		var got []seen
		for _, r := range out.Records {
			got = append(got, seen{r.EventName, r.Dynamodb.StreamViewType, r.Dynamodb.Keys, r.Dynamodb.NewImage, r.Dynamodb.OldImage})
			if r.UserIdentity != nil || r.Dynamodb.ApproximateCreationDateTime == nil || aws.ToInt64(r.Dynamodb.SizeBytes) == 0 {
				t.Errorf("record %+v", r)
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberM{})); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}

func recordFields(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}
