package backfill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

const (
	shopStream   = "arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000"
	shopFunction = "arn:aws:lambda:eu-west-1:123456789012:function:shop"
	shopMapping  = "e2c1c4d0-0000-4000-8000-000000000001"
)

// lambdaServer answers as the API reference of Lambda describes.
type lambdaServer struct {
	functions map[string]map[string]any // NAME or NAME:VERSION -> GetFunctionConfiguration
	mappings  []map[string]any          // ListEventSourceMappings, one per page
	plain     map[string]any            // GetEventSourceMapping
	denied    string                    // part of the path of denied calls
}

func (s *lambdaServer) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	fail := func(status int, code string) {
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(status)
		fmt.Fprint(w, `{"Message":"refused"}`)
	}
	if s.denied != "" && strings.Contains(q.URL.Path, s.denied) {
		fail(http.StatusForbidden, "AccessDeniedException")
		return
	}
	var answer any
	switch name, isFunction := strings.CutPrefix(q.URL.Path, "/2015-03-31/functions/"); {
	case isFunction:
		name = strings.TrimSuffix(name, "/configuration")
		if v := q.URL.Query().Get("Qualifier"); v != "" {
			name += ":" + v
		}
		f, ok := s.functions[name]
		if !ok {
			fail(http.StatusNotFound, "ResourceNotFoundException")
			return
		}
		answer = f
	case strings.TrimSuffix(q.URL.Path, "/") == "/2015-03-31/event-source-mappings":
		var of []map[string]any
		for _, m := range s.mappings {
			if m["EventSourceArn"] == q.URL.Query().Get("EventSourceArn") {
				of = append(of, m)
			}
		}
		n := 0
		fmt.Sscan(q.URL.Query().Get("Marker"), &n)
		page := map[string]any{"EventSourceMappings": of[min(n, len(of)):min(n+1, len(of))]}
		if n+1 < len(of) {
			page["NextMarker"] = fmt.Sprint(n + 1)
		}
		answer = page
	case strings.HasSuffix(q.URL.Path, "/"+shopMapping):
		answer = s.plain
	default:
		fail(http.StatusBadRequest, "InvalidParameterValueException")
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

const waitingFile = `
version: 1
name: shop
source: {table: shop}
state: {table: shop-state}
sinks:
  users: {view: {table: rows, key: {PK: '{@key}'}, when: 'item.Type == "User"'}}
  teams: {search: {index: teams, when: 'item.Type == "Team"'}}`

// shopConfig parses waitingFile, without the sink teams if all is false.
func shopConfig(t *testing.T, all bool) *config.Config {
	t.Helper()
	text := waitingFile
	if !all {
		text, _, _ = strings.Cut(text, "  teams:")
	}
	cfg, err := config.Parse("tablewake.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// criteria returns the filter criteria that `tablewake template` prints, in another order and with blanks.
func criteria(t *testing.T, cfg *config.Config, o pushdown.Options) map[string]any {
	t.Helper()
	plan, err := pushdown.New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	filters := []any{}
	for _, p := range plan.Patterns {
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, []byte(p), "", "  "); err != nil {
			t.Fatal(err)
		}
		filters = append([]any{map[string]any{"Pattern": spaced.String()}}, filters...)
	}
	if len(filters) < 2 {
		t.Fatalf("%d patterns", len(filters))
	}
	return map[string]any{"Filters": filters}
}

func TestFunctionIsUnchangedSince(t *testing.T) {
	functionTime, mappingTime := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), time.Date(2026, 1, 31, 13, 0, 0, 0, time.UTC)
	cfg := shopConfig(t, true)
	for _, tt := range []struct {
		name   string
		change func(*lambdaServer)
		names  []string
		want   time.Time // the result, if err is ""
		err    string    // part of the error
		shown  string    // part of the output
	}{
		{name: "the mapping was changed last", want: mappingTime, shown: "taken on trust"},
		{name: "the function was changed last", want: mappingTime.Add(time.Hour), change: func(s *lambdaServer) {
			s.functions["shop"]["LastModified"] = "2026-01-31T15:00:00.000+0100"
		}},
		{name: "a mapping without filters passes all", want: mappingTime, change: func(s *lambdaServer) {
			delete(s.mappings[0], "FilterCriteria")
		}},
		{name: "the flags of template", want: mappingTime, change: func(s *lambdaServer) {
			s.mappings[0]["FilterCriteria"] = criteria(t, cfg, pushdown.Options{MatchUserIdentity: true, Limit: 10})
		}},
		{name: "filters of before the sink came", err: "are not those of tablewake.yaml", change: func(s *lambdaServer) {
			s.mappings[0]["FilterCriteria"] = criteria(t, shopConfig(t, false), pushdown.Options{})
		}},
		{name: "a second mapping with such filters, on the next page", err: "the event source mapping second", change: func(s *lambdaServer) {
			second := map[string]any{"UUID": "second", "FilterCriteria": criteria(t, shopConfig(t, false), pushdown.Options{})}
			for k, v := range s.mappings[0] {
				if second[k] == nil {
					second[k] = v
				}
			}
			s.mappings = append(s.mappings, second)
		}},
		{name: "disabled", err: "is Disabled: enable it", change: func(s *lambdaServer) { s.mappings[0]["State"] = "Disabled" }},
		{name: "an update of the mapping", err: "is Updating", change: func(s *lambdaServer) { s.mappings[0]["State"] = "Updating" }},
		{name: "an update of the function", err: "is being updated", change: func(s *lambdaServer) {
			s.functions["shop"]["LastUpdateStatus"] = "InProgress"
		}},
		{name: "a failed update", err: "deploy it again", change: func(s *lambdaServer) {
			s.functions["shop"]["LastUpdateStatus"] = "Failed"
		}},
		{name: "no mapping of this stream", err: "no event source mapping sends the records of " + shopStream, change: func(s *lambdaServer) {
			s.mappings[0]["EventSourceArn"] = strings.Replace(shopStream, "2026", "2025", 1)
		}},
		{name: "another function reads it", err: "to shop: name the function", change: func(s *lambdaServer) {
			s.mappings[0]["FunctionArn"] = shopFunction + "ping"
		}},
		{name: "another function reads it too", want: mappingTime, shown: shopFunction + "ping; if they belong to this pipeline", change: func(s *lambdaServer) {
			s.mappings = append(s.mappings, map[string]any{"UUID": "x", "State": "Disabled", "EventSourceArn": shopStream, "FunctionArn": shopFunction + "ping"})
		}},
		{name: "the function that redrives was changed last", names: []string{"shop", "shop-redrive"}, want: mappingTime.Add(2 * time.Hour), change: func(s *lambdaServer) {
			s.functions["shop-redrive"] = map[string]any{"FunctionArn": shopFunction + "-redrive", "LastModified": "2026-01-31T15:00:00.000+0000", "LastUpdateStatus": "Successful"}
		}},
		{name: "an alias", err: "the alias live of the function shop", change: func(s *lambdaServer) { s.mappings[0]["FunctionArn"] = shopFunction + ":live" }},
		{name: "a version that was published last", want: mappingTime.Add(3 * time.Hour), change: func(s *lambdaServer) {
			s.mappings[0]["FunctionArn"] = shopFunction + ":7"
			s.functions["shop:7"] = map[string]any{"FunctionArn": shopFunction + ":7", "LastModified": "2026-01-31T16:00:00.000+0000", "LastUpdateStatus": "Successful"}
		}},
		{name: "encrypted filters", want: mappingTime, change: func(s *lambdaServer) {
			s.plain = map[string]any{"UUID": shopMapping, "FilterCriteria": s.mappings[0]["FilterCriteria"]}
			s.mappings[0]["KMSKeyArn"], s.mappings[0]["FilterCriteria"] = "arn:aws:kms:eu-west-1:123456789012:key/k", nil
		}},
		{name: "encrypted filters of before", err: "are not those of tablewake.yaml", change: func(s *lambdaServer) {
			s.plain = map[string]any{"UUID": shopMapping, "FilterCriteria": criteria(t, shopConfig(t, false), pushdown.Options{})}
			s.mappings[0]["KMSKeyArn"], s.mappings[0]["FilterCriteria"] = "arn:aws:kms:eu-west-1:123456789012:key/k", nil
		}},
		{name: "filters that cannot be decrypted", err: "allow kms:Decrypt", change: func(s *lambdaServer) {
			s.plain = map[string]any{"UUID": shopMapping, "FilterCriteriaError": map[string]any{"ErrorCode": "KMSAccessDeniedException", "Message": "refused"}}
			s.mappings[0]["KMSKeyArn"], s.mappings[0]["FilterCriteria"] = "arn:aws:kms:eu-west-1:123456789012:key/k", nil
		}},
		{name: "no such function", names: []string{"shopp"}, err: "check name, Region and account"},
		{name: "no right to see functions", err: "allow lambda:GetFunctionConfiguration", change: func(s *lambdaServer) { s.denied = "/configuration" }},
		{name: "no right to see mappings", err: "allow lambda:ListEventSourceMappings", change: func(s *lambdaServer) { s.denied = "/event-source-mappings" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &lambdaServer{
				functions: map[string]map[string]any{"shop": {
					"FunctionArn": shopFunction, "FunctionName": "shop", "LastModified": functionTime.Format("2006-01-02T15:04:05.000-0700"), "LastUpdateStatus": "Successful", "Timeout": 60,
				}},
				mappings: []map[string]any{{
					"UUID": shopMapping, "State": "Enabled", "EventSourceArn": shopStream, "FunctionArn": shopFunction, "LastModified": float64(mappingTime.Unix()),
					"FilterCriteria": criteria(t, cfg, pushdown.Options{}),
				}},
			}
			if tt.change != nil {
				tt.change(s)
			}
			server := httptest.NewServer(s)
			defer server.Close()
			client := lambda.New(lambda.Options{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: aws.NopRetryer{}})
			var out bytes.Buffer
			p := functionProof{api: client, cfg: cfg, streams: []string{shopStream}, out: &out}
			names := tt.names
			if names == nil {
				names = []string{"shop"}
			}
			got, err := p.unchangedSince(t.Context(), names)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || !got.Equal(tt.want) || !strings.Contains(out.String(), tt.shown) {
				t.Errorf("%v, %v, want %v\n%s", got, err, tt.want, out.String())
			}
		})
	}
}

func TestAChangedFunctionMustSettle(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	if err := checkSettled("changed", now.Add(-functionSettleTime), now); err != nil {
		t.Error(err)
	}
	err := checkSettled("changed", now.Add(-functionSettleTime+time.Second), now)
	if _, isUsage := errors.AsType[*cli.ExitError](err); !isUsage || !strings.Contains(err.Error(), "repeat the command at 2026-01-31T12:00:02Z or later") {
		t.Error(err)
	}
}
