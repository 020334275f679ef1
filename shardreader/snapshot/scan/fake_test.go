package scan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// fakeTable answers DescribeTable and Scan in memory. Each segment has a number of pages with one item each.
type fakeTable struct {
	pages   func(segment int) int
	units   func(segment, page int) float64 // what a page costs; negative: the answer does not say. Default: 256
	latency time.Duration
	items   int // that DynamoDB has counted, of 100 bytes each
	padding int // bytes of an item
	fault   func(call int, body string) (status int, answer string, header http.Header, err error)

	spends func(units float64) // is called with the sum of all requests so far

	mu    sync.Mutex
	calls int       // of Scan
	spent float64   // units
	last  time.Time // of the last request
	asked []string  // bodies of Scan
}

// client calls the table.
func (f *fakeTable) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: &http.Client{Transport: f},
	})
}

const tableARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"

// RoundTrip answers a request.
func (f *fakeTable) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	time.Sleep(f.latency)
	if strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".DescribeTable") {
		return respond(req, 200, nil, fmt.Sprintf(`{"Table":{"TableName":"shop","TableArn":%q,"TableStatus":"ACTIVE","ItemCount":%d,"TableSizeBytes":%d,`+
			`"StreamSpecification":{"StreamEnabled":true},"LatestStreamArn":"%s/stream/2026-01-02T03:04:05.000","KeySchema":[{"AttributeName":"SK","KeyType":"RANGE"},{"AttributeName":"PK","KeyType":"HASH"}]}}`, tableARN, f.items, 100*f.items, tableARN)), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.last = time.Now()
	var in struct {
		Segment           int
		ExclusiveStartKey map[string]map[string]string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	var plain any // with its members in order
	if err := json.Unmarshal(body, &plain); err != nil {
		return nil, err
	}
	if body, err = json.Marshal(plain); err != nil {
		return nil, err
	}
	f.asked = append(f.asked, string(body))
	page, _ := strconv.Atoi(in.ExclusiveStartKey["SK"]["N"])
	answer := f.page(in.Segment, page)
	if f.fault != nil {
		status, broken, header, err := f.fault(f.calls, answer)
		if err != nil {
			return nil, err
		}
		if status != 0 {
			return respond(req, status, header, broken), nil
		}
	}
	return respond(req, 200, http.Header{"X-Amz-Crc32": {strconv.Itoa(int(crc32.ChecksumIEEE([]byte(answer))))}}, answer), nil
}

// page is the answer with page number `page` of a segment, 0-based.
func (f *fakeTable) page(segment, page int) string {
	units := 256.0
	if f.units != nil {
		units = f.units(segment, page)
	}
	if f.spent += max(units, 0); f.spends != nil {
		f.spends(f.spent)
	}
	consumed := ""
	if units >= 0 {
		consumed = fmt.Sprintf(`"ConsumedCapacity":{"TableName":"shop","CapacityUnits":%g},`, units)
	}
	key := fmt.Sprintf(`"PK":{"S":"s%d"},"SK":{"N":"%d"}`, segment, page+1)
	if f.pages(segment) == 0 {
		return fmt.Sprintf(`{%s"Count":0,"Items":[],"ScannedCount":0}`, consumed)
	}
	answer := fmt.Sprintf(`{%s"Count":1,"Items":[{%s,"text":{"S":"LastEvaluatedKey\":{}%s"}}],"ScannedCount":1`, consumed, key, strings.Repeat("x", f.padding))
	if page+1 < f.pages(segment) {
		answer += fmt.Sprintf(`,"LastEvaluatedKey":{%s}`, key)
	}
	return answer + "}"
}

func respond(req *http.Request, status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Request: req, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
}

func refusal(code string) string {
	return `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"canary"}`
}

func always(n int) func(int) int { return func(int) int { return n } }

var errReset = errors.New("connection reset by peer")

// Each broken or failed page is requested again, with the same start, until a complete one comes.
func TestScan_RepeatsFailedRequests(t *testing.T) {
	for name, fault := range map[string]func(answer string) (int, string, http.Header, error){
		"throttled": func(string) (int, string, http.Header, error) {
			return 400, refusal("ProvisionedThroughputExceededException"), nil, nil
		},
		"the account":      func(string) (int, string, http.Header, error) { return 400, refusal("RequestLimitExceeded"), nil, nil },
		"throttling":       func(string) (int, string, http.Header, error) { return 400, refusal("ThrottlingException"), nil, nil },
		"a failing server": func(string) (int, string, http.Header, error) { return 500, refusal("InternalServerError"), nil, nil },
		"a proxy":          func(string) (int, string, http.Header, error) { return 502, "<html>", nil, nil },
		"a proxy with 200": func(string) (int, string, http.Header, error) { return 200, "<html>", nil, nil },
		"an empty body":    func(string) (int, string, http.Header, error) { return 200, "", nil, nil },
		"{}":               func(string) (int, string, http.Header, error) { return 200, "{}", nil, nil },
		"no items":         func(string) (int, string, http.Header, error) { return 200, `{"Count":1,"ScannedCount":1}`, nil, nil },
		"a cut body":       func(a string) (int, string, http.Header, error) { return 200, a[:len(a)-1], nil, nil },
		"trailing bytes":   func(a string) (int, string, http.Header, error) { return 200, a + "x", nil, nil },
		"a second answer":  func(a string) (int, string, http.Header, error) { return 200, a + a, nil, nil },
		"a wrong checksum": func(a string) (int, string, http.Header, error) {
			return 200, a, http.Header{"X-Amz-Crc32": {"1"}}, nil
		},
		"a broken connection": func(string) (int, string, http.Header, error) { return 0, "", nil, errReset },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				const failing = 9 // more than the SDK repeats
				table := &fakeTable{pages: always(2)}
				table.fault = func(call int, answer string) (int, string, http.Header, error) {
					if call == 1 || call > failing {
						return 0, "", nil, nil
					}
					return fault(answer)
				}
				repeated := 0
				s := open(t, table.client(), options(func(error, time.Duration) { repeated++ }))
				pages, err := readPart(t.Context(), s, "0000/0001", "")
				if err != nil || len(pages) != 2 || len(changes(t, pages...)) != 2 || repeated == 0 {
					t.Fatalf("%d pages, %d repeats: %v", len(pages), repeated, err)
				}
				if pages[0].position != `{"PK":{"S":"s0"},"SK":{"N":"1"}}` || pages[1].position != "end" {
					t.Errorf("the positions are %s and %s", pages[0].position, pages[1].position)
				}
				for _, body := range table.asked[2:] {
					if body != table.asked[1] {
						t.Errorf("%s was asked instead of %s", body, table.asked[1])
					}
				}
			})
		})
	}
}

// A permanent failure ends the part and says what to do. The server's text is not shown.
func TestScan_PermanentFailures(t *testing.T) {
	for code, want := range map[string]string{
		"AccessDeniedException":     "Scan of the table shop, segment 0000/0001: AccessDeniedException (allow dynamodb:Scan on the table)",
		"ResourceNotFoundException": "Scan of the table shop, segment 0000/0001: ResourceNotFoundException (the table was deleted)",
		"ValidationException":       "Scan of the table shop, segment 0000/0001: ValidationException (check that the key of the table is still the same, and begin the backfill again)",
	} {
		inBubble(t, func(t *testing.T) {
			table := &fakeTable{pages: always(2)}
			table.fault = func(call int, _ string) (int, string, http.Header, error) {
				if call == 1 {
					return 0, "", nil, nil
				}
				return 400, refusal(code), nil, nil
			}
			pages, err := readPart(t.Context(), open(t, table.client(), options(nil)), "0000/0001", "")
			if len(pages) != 1 || err == nil || err.Error() != want {
				t.Errorf("%d pages and %v, want %s", len(pages), err, want)
			}
		})
	}
}
