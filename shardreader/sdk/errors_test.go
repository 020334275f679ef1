package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// Fact 32: the SDK's GetRecords takes an empty body or {} with status 200 for an end of shard, ignores trailing
// garbage, and does not retry a body that is cut. Here each page is requested again with the same iterator, by the
// SDK's own retries.
func TestFact32_BrokenAnswersAreAskedForAgain(t *testing.T) {
	whole := `{"Records":[` + first + `,` + second + `],"NextShardIterator":"it-2"}`
	tests := []struct {
		name string
		give answer
	}{
		{"an empty body", answer{}},
		{"white space", answer{body: " \n"}},
		{"{}", answer{body: `{}`}},
		{"null", answer{body: `null`}},
		{"an iterator without records", answer{body: `{"NextShardIterator":"it-2"}`}},
		{"a body cut within a record", answer{body: whole[:len(first)+40]}},
		{"a body cut between records", answer{body: whole[:len(first)+12]}},
		{"a body without its last byte", answer{body: whole[:len(whole)-1]}},
		{"a body cut before the iterator", answer{body: `{"Records":[` + first + `]`}},
		{"trailing garbage", answer{body: whole + `x`}},
		{"a second answer behind the first", answer{body: whole + whole}},
		{"garbage", answer{body: `<html>hello</html>`}},
		{"zipped bytes that nobody said were zipped", answer{body: zipped(whole)}},
		{"a connection reset within the body", answer{body: whole[:60], cut: streamtest.ErrReset}},
		{"a connection reset behind the body", answer{body: whole, cut: streamtest.ErrReset}},
		{"a body shorter than announced", answer{body: whole[:60], cut: io.ErrUnexpectedEOF}},
		{"a wrong checksum", answer{body: whole, header: http.Header{"X-Amz-Crc32": {"1"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Once broken: the retry returns the page, and no caller notices.
				rt := &answers{give: []answer{tt.give, {body: whole}}}
				got, err := streams(rt).GetRecords(t.Context(), query())
				if err != nil || sequences(got.Page) != "1 2" || got.NextIterator != "it-2" || got.Ended {
					t.Errorf("after a retry: %+v, %v", got, err)
				}
				if len(rt.requests) != 2 || rt.requests[0] != rt.requests[1] {
					t.Errorf("requests %q, want the same twice", rt.requests)
				}
				// Permanently broken: a transient error, and not the end of a shard.
				rt = &answers{give: []answer{tt.give}}
				got, err = streams(rt).GetRecords(t.Context(), query())
				if _, ok := pipeline.Retryable(err); !ok {
					t.Errorf("error %v, want a transient one", err)
				}
				if got.Ended || got.NextIterator != "" {
					t.Errorf("a broken answer gives %+v", got)
				}
				if said := redact.LogText(err); strings.HasPrefix(said, redact.UnknownClass) && !errors.Is(err, streamtest.ErrReset) || strings.Contains(said, "hello") {
					t.Errorf("the log has %q", said)
				}
				if len(rt.requests) != 3 {
					t.Errorf("%d tries, want the SDK's 3", len(rt.requests))
				}
			})
		})
	}
}

// Fact 9: throttling and 5xx are retried; ExpiredIterator re-acquires AFTER the
// last sequence number; TrimmedDataAccess is a gap; ResourceNotFound for a shard is
// a gap. A transient error never completes a shard. So a caller must tell them apart.
func TestFact9_Errors(t *testing.T) {
	tests := []struct {
		name  string
		give  answer
		kind  error // nil: none of the sentinels
		again bool
		tries int
	}{
		{"expired iterator", failing(400, "ExpiredIteratorException"), shardreader.ErrExpiredIterator, false, 1},
		{"trimmed data", failing(400, "TrimmedDataAccessException"), shardreader.ErrTrimmed, false, 1},
		{"no such stream", failing(400, "ResourceNotFoundException"), shardreader.ErrNotFound, false, 1},
		{"denied", failing(400, "AccessDeniedException"), shardreader.ErrDenied, false, 1},
		{"unknown key", failing(400, "UnrecognizedClientException"), shardreader.ErrDenied, false, 1},
		{"wrong signature", failing(400, "InvalidSignatureException"), shardreader.ErrDenied, false, 1},
		{"expired credentials", failing(400, "ExpiredTokenException"), shardreader.ErrDenied, false, 1},
		{"forbidden by a proxy", answer{status: 403, body: "<html>no</html>"}, nil, true, 1},
		{"throttling", failing(400, "ThrottlingException"), nil, true, 3},
		{"limit", failing(400, "LimitExceededException"), nil, true, 3},
		{"throughput", failing(400, "ProvisionedThroughputExceededException"), nil, true, 3},
		{"internal error", failing(500, "InternalServerError"), nil, true, 3},
		{"unavailable", failing(503, "ServiceUnavailable"), nil, true, 3},
		{"bad gateway", answer{status: 502, body: "<html>bad</html>"}, nil, true, 3},
		{"too many requests, of a proxy", answer{status: 429, body: "slow down"}, nil, true, 0},
		{"connection reset", answer{err: streamtest.ErrReset}, nil, true, 3},
		{"timeout", answer{err: timeout{}}, nil, true, 3},
		{"an error answer, cut", answer{status: 400, body: `{"__type":"com.amazonaws.dynamodb.v20120810#Expired`}, nil, true, 1},
		{"an error answer without its last byte", answer{status: 400, body: strings.TrimSuffix(failing(400, "ExpiredIteratorException").body, "}")}, nil, true, 1},
		{"an error answer whose connection is reset", answer{status: 400, body: `{"__type":"com`, cut: streamtest.ErrReset}, nil, true, 3},
		{"an error answer shorter than announced", answer{status: 400, body: `{"__type":"com`, cut: io.ErrUnexpectedEOF}, nil, true, 0},
		{"an empty error answer", answer{status: 400}, nil, true, 1},
		{"an error answer and garbage", answer{status: 400, body: failing(400, "ExpiredIteratorException").body + "}"}, shardreader.ErrExpiredIterator, false, 1},
		{"invalid request", failing(400, "ValidationException"), nil, false, 1},
		{"not found by a proxy", answer{status: 404, body: "nothing here"}, nil, true, 1},
	}
	calls := map[string]func(*testing.T, *Streams) error{
		"GetRecords": func(t *testing.T, s *Streams) error {
			got, err := s.GetRecords(t.Context(), query())
			if got.Ended || got.NextIterator != "" || got.Page != nil {
				t.Errorf("an error gives %+v", got)
			}
			return err
		},
		"GetShardIterator": func(t *testing.T, s *Streams) error {
			_, err := s.GetShardIterator(t.Context(), shardreader.ShardPosition{StreamARN: streamARN, Shard: "shard-1", Type: shardreader.TrimHorizon})
			return err
		},
		"DescribeStream": func(t *testing.T, s *Streams) error {
			_, err := s.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: streamARN})
			return err
		},
		"ListStreams": func(t *testing.T, s *Streams) error {
			_, err := s.ListStreams(t.Context(), "shop", "")
			return err
		},
	}
	kinds := []error{shardreader.ErrExpiredIterator, shardreader.ErrTrimmed, shardreader.ErrNotFound, shardreader.ErrDenied}
	for _, tt := range tests {
		for op, call := range calls {
			t.Run(tt.name+"/"+op, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rt := &answers{give: []answer{tt.give}}
					err := call(t, streams(rt))
					e, ok := errors.AsType[*shardreader.Error](err)
					if !ok || e.Op != op || e.Subject == "" || e.Err == nil {
						t.Fatalf("error %#v, want a *shardreader.Error of %s", err, op)
					}
					for _, k := range kinds {
						if errors.Is(err, k) != errors.Is(tt.kind, k) {
							t.Errorf("errors.Is(%v, %v) is %v", err, k, errors.Is(err, k))
						}
					}
					if tt.kind != nil && e.Hint == "" {
						t.Errorf("%v gives no hint", err)
					}
					if _, again := pipeline.Retryable(err); again != tt.again {
						t.Errorf("%v: transient is %v, want %v", err, again, tt.again)
					}
					if tt.tries > 0 && len(rt.requests) != tt.tries {
						t.Errorf("%d tries, want %d", len(rt.requests), tt.tries)
					}
				})
			})
		}
	}
}

func failing(status int, code string) answer {
	return answer{status: status, body: fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"because"}`, code)}
}

type timeout struct{}

func (timeout) Error() string { return "i/o timeout" }
func (timeout) Timeout() bool { return true }

// A missing part in an answer of the other operations is a transient error too.
func TestBrokenAnswersOfTheOtherOperations(t *testing.T) {
	for _, body := range []string{"", "{}", `{"StreamDescription"`, `{"ShardIterator":"`} {
		synctest.Test(t, func(t *testing.T) {
			s := streams(&answers{give: []answer{{body: body}}})
			_, err := s.DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: streamARN})
			if _, again := pipeline.Retryable(err); !again {
				t.Errorf("DescribeStream of %q: %v, want a transient error", body, err)
			}
			_, err = s.ListStreams(t.Context(), "shop", "")
			if _, again := pipeline.Retryable(err); !again {
				t.Errorf("ListStreams of %q: %v, want a transient error", body, err)
			}
			if said := redact.LogText(err); body == "{}" && said != "foreign_answer: ListStreams of table shop: an answer with status 200 that is not the service's: it has no list of streams" {
				t.Errorf("ListStreams of %q: the log has %q", body, said)
			}
			_, err = s.GetShardIterator(t.Context(), shardreader.ShardPosition{Shard: "s", Type: shardreader.Latest})
			if _, again := pipeline.Retryable(err); !again {
				t.Errorf("GetShardIterator of %q: %v, want a transient error", body, err)
			}
		})
	}
}

func TestGetRecords_GivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("the user stopped it")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Minute)
			cancel(stop)
		}()
		got, err := streams(&answers{give: []answer{{hang: true}}}).GetRecords(ctx, query())
		if !errors.Is(err, stop) || got.Ended {
			t.Errorf("%+v, %v; want the cause of the cancellation", got, err)
		}
		if _, again := pipeline.Retryable(err); again {
			t.Errorf("%v counts as transient", err)
		}
	})
}
