package record_test

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/record"
)

// cliAnswer is an answer as the AWS CLI prints it.
const cliAnswer = `{
    "Records": [
        {
            "eventID": "07784dc1e1f7e3a0d4aa4d4b7b42c9f8",
            "eventName": "INSERT",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "eu-west-1",
            "dynamodb": {
                "ApproximateCreationDateTime": "2026-11-21T10:01:00+01:00",
                "Keys": {
                    "PK": {
                        "S": "USER#1"
                    }
                },
                "NewImage": {
                    "PK": {
                        "S": "USER#1"
                    },
                    "Tags": {
                        "SS": [
                            "a",
                            "b"
                        ]
                    }
                },
                "SequenceNumber": "000000100000000005391461882",
                "SizeBytes": 30,
                "StreamViewType": "NEW_AND_OLD_IMAGES"
            }
        }
    ],
    "NextShardIterator": "arn:aws:dynamodb:eu-west-1:1:table/shop/stream/2026-11-21T09:00:00.000|1|AAAA"
}
`

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, body, next string
		changes          int
	}{
		{"as the CLI prints it", cliAnswer, "arn:aws:dynamodb:eu-west-1:1:table/shop/stream/2026-11-21T09:00:00.000|1|AAAA", 1},
		{"as the service sends it", `{"NextShardIterator":"next","Records":[` + pipelinetest.Insert + `]}`, "next", 1},
		{"idle", `{"NextShardIterator":"next","Records":[]}`, "next", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := record.NewDecoder(record.DecoderOptions{StreamARN: pipelinetest.StreamARN}).DecodeGetRecords([]byte(tt.body))
			if err != nil || a.Ended || a.NextIterator != tt.next || len(a.Page.Changes) != tt.changes || len(a.Page.Errors) > 0 {
				t.Errorf("%v %+v", err, a)
			}
		})
	}
}

// Fact 4: GetRecords may return records together with a nil NextShardIterator. The records must be processed before the
// shard ends.
func TestFact4_RecordsWithTheEndOfAShard(t *testing.T) {
	for _, body := range []string{`{"Records":[` + pipelinetest.Insert + `]}`, `{"NextShardIterator":null,"Records":[` + pipelinetest.Insert + `]}`} {
		a, err := record.NewDecoder(record.DecoderOptions{}).DecodeGetRecords([]byte(body))
		if err != nil || !a.Ended || a.NextIterator != "" || len(a.Page.Changes) != 1 {
			t.Errorf("%v %+v", err, a)
		}
	}
}

// Fact 32: the SDK's GetRecords takes an empty body or {} with status 200 for the end of a shard, ignores trailing
// garbage, and does not retry a truncated body. DecodeGetRecords returns an error for all of these.
func TestFact32_BrokenAnswersNeverEndAShard(t *testing.T) {
	whole := `{"NextShardIterator":"next","Records":[` + pipelinetest.Insert + `,` + pipelinetest.Modify + `]}`
	bodies := []string{
		``, ` `, `{}`, `null`, `[]`, `"x"`, `[` + pipelinetest.Insert + `]`, pipelinetest.Insert,
		`{"NextShardIterator":null}`, `{"NextShardIterator":"next"}`, `{"Records":null}`, `{"Records":{}}`,
		`{"Records":[],"NextShardIterator":""}`, `{"Records":[],"NextShardIterator":5}`,
		`{"Records":[],"NextShardIterator":"a","NextShardIterator":null}`, `{"Records":[],"Records":[]}`,
		whole + `}`, whole + whole, `{"Records":[]}x`, `{"message":"Internal server error"}`,
	}
	for cut := range len(whole) {
		bodies = append(bodies, whole[:cut])
	}
	for _, body := range bodies {
		a, err := record.NewDecoder(record.DecoderOptions{}).DecodeGetRecords([]byte(body))
		if _, ok := errors.AsType[*record.FramingError](err); !ok || a.Ended || a.NextIterator != "" || a.Page == nil {
			t.Errorf("%q: %v %+v", body, err, a)
		}
	}
}

func TestUnsoundRecordDoesNotBreakAnAnswer(t *testing.T) {
	a, err := record.NewDecoder(record.DecoderOptions{}).DecodeGetRecords([]byte(`{"Records":[{"a":1},` + pipelinetest.Insert + `],"NextShardIterator":"next"}`))
	if err != nil || len(a.Page.Errors) != 1 || len(a.Page.Changes) != 1 || a.NextIterator != "next" {
		t.Errorf("%v %+v", err, a)
	}
}
