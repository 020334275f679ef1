package shop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Client returns a client of the table "shop" with this stream. The table has those of the items 0 to n-1 that s has.
// The client answers DescribeTable, Scan and BatchGetItem.
func (s *Shop) Client(streamARN string, n int) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: &http.Client{Transport: &transport{shop: s, stream: streamARN, items: n, parts: make(map[int][][]string)}},
	})
}

// transport answers requests about the table of a shop.
type transport struct {
	shop   *Shop
	stream string // ARN of the stream
	items  int    // the numbers of all items are below it

	mu    sync.Mutex
	parts map[int][][]string // by the number of segments: keys of each segment, in order
}

// pageItems is the number of items of a page of a scan.
const pageItems = 200

// segment returns the keys of a segment.
func (t *transport) segment(number, of int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts[of] == nil {
		t.parts[of] = make([][]string, of)
		for i := range t.items {
			part := PartOf(PK(i), of)
			t.parts[of][part] = append(t.parts[of][part], PK(i))
		}
	}
	return t.parts[of][number]
}

// RoundTrip answers a request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var out any
	switch _, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), "."); op {
	case "DescribeTable":
		out = t.describe()
	case "Scan":
		out, err = t.scan(body)
	case "BatchGetItem":
		out, err = t.batchGet(body)
	default:
		err = fmt.Errorf("%s is not answered", op)
	}
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, ContentLength: int64(len(answer)), Body: io.NopCloser(strings.NewReader(string(answer)))}, nil
}

func (t *transport) describe() any {
	table, _, _ := strings.Cut(t.stream, "/stream/")
	return map[string]any{"Table": map[string]any{
		"TableName": "shop", "TableArn": table, "TableStatus": "ACTIVE", "StreamSpecification": map[string]any{"StreamEnabled": true}, "LatestStreamArn": t.stream,
		"KeySchema": []map[string]string{{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}},
	}}
}

// key is the key of an item in a request.
type key struct{ PK struct{ S string } }

func (t *transport) scan(body []byte) (any, error) {
	var in struct {
		Segment, TotalSegments int
		ConsistentRead         bool
		ExclusiveStartKey      key
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.TotalSegments < 1 || !in.ConsistentRead {
		return nil, fmt.Errorf("a scan of another kind: %s", body)
	}
	pks := t.segment(in.Segment, in.TotalSegments)
	if after := in.ExclusiveStartKey.PK.S; after != "" {
		i, _ := slices.BinarySearch(pks, after)
		pks = pks[i+1:]
	}
	items, next := t.shop.Find(pks, pageItems)
	out := map[string]any{"Count": len(items), "ScannedCount": len(items), "Items": items, "ConsumedCapacity": map[string]any{"CapacityUnits": len(items)}}
	if items == nil {
		out["Items"] = []string{}
	}
	if next < len(pks) {
		out["LastEvaluatedKey"] = json.RawMessage(KeyJSON(pks[next-1]))
	}
	return out, nil
}

func (t *transport) batchGet(body []byte) (any, error) {
	var in struct {
		RequestItems map[string]struct {
			Keys           []key
			ConsistentRead bool
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	asked := in.RequestItems["shop"]
	if len(in.RequestItems) != 1 || len(asked.Keys) == 0 || !asked.ConsistentRead {
		return nil, fmt.Errorf("a read of another kind: %s", body)
	}
	var pks []string
	for _, k := range asked.Keys {
		pks = append(pks, k.PK.S)
	}
	items, _ := t.shop.Find(pks, len(pks))
	return map[string]any{
		"Responses": map[string]any{"shop": items}, "UnprocessedKeys": map[string]any{},
		"ConsumedCapacity": []any{map[string]any{"TableName": "shop", "CapacityUnits": len(pks)}},
	}, nil
}
