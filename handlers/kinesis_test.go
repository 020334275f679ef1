package handlers

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// inKinesis returns a record of Kinesis: the change of that eventID and key, created n microseconds after the first.
func inKinesis(sequence int, id, key string, micros int) string {
	return kinesisRecord(sequence, id, key, fmt.Sprint(1_767_323_045_000_000+int64(micros)), "MICROSECOND")
}

func kinesisRecord(sequence int, id, key, created, precision string) string {
	change := fmt.Sprintf(`{"awsRegion":"eu-central-1","eventID":%q,"eventName":"INSERT","userIdentity":null,"recordFormat":"application/json","tableName":"shop",`+
		`"dynamodb":{"ApproximateCreationDateTime":%s,"ApproximateCreationDateTimePrecision":%q,"Keys":{"PK":{"S":%[4]q}},"NewImage":{"PK":{"S":%[4]q}},"SizeBytes":10},"eventSource":"aws:dynamodb"}`,
		id, created, precision, key)
	return fmt.Sprintf(`{"kinesis":{"kinesisSchemaVersion":"1.0","partitionKey":"x","sequenceNumber":"%[1]d","data":%[2]q,"approximateArrivalTimestamp":1767323046.5},`+
		`"eventSource":"aws:kinesis","eventVersion":"1.0","eventID":"shardId-000000000006:%[1]d","eventName":"aws:kinesis:record","invokeIdentityArn":"arn:aws:iam::123456789012:role/r","awsRegion":"eu-central-1",`+
		`"eventSourceARN":"arn:aws:kinesis:eu-central-1:123456789012:stream/changes"}`,
		sequence, base64.StdEncoding.EncodeToString([]byte(change)))
}

// Fact 33: records of Kinesis Data Streams for DynamoDB may repeat and may come in another order
// than the changes. They are put into the order of their creation; the answer is in that of the batch.
func TestFact33_OrderAndRepetition(t *testing.T) {
	mess := event(
		inKinesis(901, "e3", "a", 30), inKinesis(902, "e1", "a", 10), inKinesis(903, "e4", "b", 40),
		inKinesis(904, "e1", "a", 10), inKinesis(905, "e2", "c", 20), inKinesis(906, "e3", "a", 30), inKinesis(907, "e5", "d", 40))
	for name, tt := range map[string]struct {
		down   string // key, or eventID
		answer string
		want   string
	}{
		"all is well":                      {"", "", "e1 e2 e3 e4 e5"},
		"what is created late comes first": {"e3", "901", "e1 e2 e4 e5"},
		"the first of two counts":          {"a", "901", "e2 e4 e5"},
		"in the middle":                    {"e2", "905", "e1 e3 e4 e5"},
		"of the same microsecond":          {"e5", "907", "e1 e2 e3 e4"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var written []string
				sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
					v, _ := ds[0].Change.Keys.Get("PK")
					if key, _ := v.Text(); tt.down == key || tt.down == ds[0].Change.EventID {
						return pipeline.Transient(errDown)
					}
					written = append(written, ds[0].Change.EventID)
					return nil
				})
				p := assemble(t, sink, nil)
				answer, err := Kinesis(p).Invoke(within(t, time.Minute), []byte(mess))
				slices.Sort(written) // of several keys
				if err != nil || failures(t, answer) != tt.answer || strings.Join(written, " ") != tt.want {
					t.Errorf("%s, %v, written %v; want %q and %q", answer, err, written, tt.answer, tt.want)
				}
				if l := p.Ledger().Source; l.Read != 7 || l.Duplicate != 2 {
					t.Errorf("the source's ledger is %+v; want 7 records, 2 of them repeated", l)
				}
			})
		})
	}
}

// The changes of an item are delivered as they were made.
func TestFact33_OrderOfAnItem(t *testing.T) {
	var written []string
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		for _, d := range ds {
			written = append(written, d.Change.EventID)
		}
		return nil
	})
	e := event(inKinesis(1, "e4", "a", 4), inKinesis(2, "e2", "a", 2), inKinesis(3, "e3", "a", 3), inKinesis(4, "e1", "a", 1), inKinesis(5, "e2", "a", 2))
	for _, h := range []func() ([]byte, error){
		func() ([]byte, error) { return Kinesis(assemble(t, sink, nil)).Invoke(t.Context(), []byte(e)) },
		func() ([]byte, error) { return All(assemble(t, sink, nil)).Invoke(t.Context(), []byte(e)) },
	} {
		written = nil
		if answer, err := h(); err != nil || failures(t, answer) != "" || strings.Join(written, " ") != "e1 e2 e3 e4" {
			t.Errorf("%s, %v, written %v", answer, err, written)
		}
	}
}

// Milliseconds cannot order changes. So such a record goes to dead letters, as does one that is not a change of
// DynamoDB.
func TestFact33_Undecodable(t *testing.T) {
	for name, bad := range map[string]string{
		"milliseconds": kinesisRecord(2, "e2", "b", "1767323045000", "MILLISECOND"),
		"no change":    strings.Replace(inKinesis(2, "e2", "b", 2), `"data":"`, `"data":"AAAA`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s, g := &store{}, &graveyard{}
			answer, err := Kinesis(assemble(t, s, g)).Invoke(t.Context(), []byte(event(inKinesis(1, "e1", "a", 1), bad, inKinesis(3, "e3", "c", 3))))
			if err != nil || failures(t, answer) != "" || s.keys() != "a c" || g.classes() != "undecodable 2" {
				t.Errorf("%s, %v, written %q, letters %q", answer, err, s.keys(), g.classes())
			}
		})
	}
}
