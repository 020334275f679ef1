package backfill

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

	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/test/e2e/shop"
)

// newest is a table that knows the sequence number of its newest change.
type newest struct {
	*streamtest.Table
	mu       sync.Mutex
	sequence string
}

func (n *newest) note(w streamtest.Written, err error) (streamtest.Written, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.Sequence != "" {
		n.sequence = w.Sequence
	}
	return w, err
}

func (n *newest) Put(item string) (streamtest.Written, error)   { return n.note(n.Table.Put(item)) }
func (n *newest) Delete(key string) (streamtest.Written, error) { return n.note(n.Table.Delete(key)) }
func (n *newest) Expire(key string) (streamtest.Written, error) { return n.note(n.Table.Expire(key)) }

func (n *newest) last() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sequence
}

// scanned answers DescribeTable and Scan for a shop.
type scanned struct {
	shop     *shop.Shop
	stream   string // ARN
	segments int
	parts    [][]string // keys by segment, in order
	page     int        // items of a page
}

// newScanned scans the items 0 to n-1.
func newScanned(s *shop.Shop, stream string, n, segments, page int) *scanned {
	t := &scanned{shop: s, stream: stream, segments: segments, parts: make([][]string, segments), page: page}
	for i := range n {
		pk := shop.PK(i)
		part := shop.PartOf(pk, segments)
		t.parts[part] = append(t.parts[part], pk)
	}
	return t
}

func (t *scanned) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: &http.Client{Transport: t},
	})
}

// RoundTrip answers a request.
func (t *scanned) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var out any
	if _, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), "."); op == "DescribeTable" {
		table, _, _ := strings.Cut(t.stream, "/stream/")
		out = map[string]any{"Table": map[string]any{
			"TableName": "shop", "TableArn": table, "TableStatus": "ACTIVE", "StreamSpecification": map[string]any{"StreamEnabled": true}, "LatestStreamArn": t.stream,
			"KeySchema": []map[string]string{{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}},
		}}
	} else if out, err = t.scan(body); err != nil {
		return nil, err
	}
	answer, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, ContentLength: int64(len(answer)), Body: io.NopCloser(strings.NewReader(string(answer)))}, nil
}

func (t *scanned) scan(body []byte) (any, error) {
	var in struct {
		Segment, TotalSegments int
		ConsistentRead         bool
		ExclusiveStartKey      map[string]struct{ S string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.TotalSegments != t.segments || !in.ConsistentRead {
		return nil, fmt.Errorf("a scan of another kind: %s", body)
	}
	pks := t.parts[in.Segment]
	if after := in.ExclusiveStartKey["PK"].S; after != "" {
		i, _ := slices.BinarySearch(pks, after)
		pks = pks[i+1:]
	}
	items, next := t.shop.Find(pks, t.page)
	out := map[string]any{"Count": len(items), "ScannedCount": len(items), "Items": items, "ConsumedCapacity": map[string]any{"CapacityUnits": len(items)}}
	if items == nil {
		out["Items"] = []string{}
	}
	if next < len(pks) {
		out["LastEvaluatedKey"] = json.RawMessage(shop.KeyJSON(pks[next-1]))
	}
	return out, nil
}

// version returns a version as text.
func version(epoch uint64, sequence string) string {
	return fmt.Sprintf("%010d%s%s", epoch, strings.Repeat("0", 40-len(sequence)), sequence)
}
