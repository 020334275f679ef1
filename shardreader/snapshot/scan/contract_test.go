package scan_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
)

// The decoding step of this minor version of the SDK calls Options.Protocol, and wrapping its DeserializeResponse keeps
// errors, retries and body closing as they are. Another minor version may be built otherwise: read its api_client.go
// and the middleware of Scan, run this package's tests, then name it here.
func TestScan_MinorVersionIsTheOneThatWasRead(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^\tgithub.com/aws/aws-sdk-go-v2/service/dynamodb v1\.73\.\d+$`).Match(mod) {
		t.Error("go.mod has another minor version of service/dynamodb, and the wrapper was read against v1.73")
	}
}

// Each request is consistent, of its segment, and asks what it costs.
func TestScan_Requests(t *testing.T) {
	table := &fakeTable{pages: always(2)}
	s := open(t, table.client(), scan.Options{Table: "shop", Segments: 3})
	if _, err := readPart(t.Context(), s, "0002/0003", ""); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL","Segment":2,"TableName":"shop","TotalSegments":3}`,
		`{"ConsistentRead":true,"ExclusiveStartKey":{"PK":{"S":"s2"},"SK":{"N":"1"}},"ReturnConsumedCapacity":"TOTAL","Segment":2,"TableName":"shop","TotalSegments":3}`,
	}
	if got := strings.Join(table.asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the requests are\n%s", got)
	}
}

// The SDK's middleware sees what a page cost.
func TestScan_CostIsSeen(t *testing.T) {
	table := &fakeTable{pages: always(2), units: func(int, int) float64 { return 128.5 }}
	var seen []float64
	client := dynamodb.New(table.client().Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("cost", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, md, err := next.HandleInitialize(ctx, in)
				if scanned, ok := out.Result.(*dynamodb.ScanOutput); ok {
					seen = append(seen, *scanned.ConsumedCapacity.CapacityUnits)
				}
				return out, md, err
			}), middleware.After)
		})
	})
	if _, err := readPart(t.Context(), open(t, client, options(nil)), "0000/0001", ""); err != nil || !slices.Equal(seen, []float64{128.5, 128.5}) {
		t.Errorf("%v is seen (%v)", seen, err)
	}
}

// The counts of a table are shared by its segments. They are unknown before DynamoDB has counted, and a narrowing makes
// the number of items unknown.
func TestScan_Counts(t *testing.T) {
	n, err := snapshot.NewItemSelection(snapshot.NarrowingOptions{Types: []string{"Order"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		counted   int
		narrowing *snapshot.ItemSelection
		info      snapshot.Info
		part      snapshot.Part
	}{
		{7, nil, snapshot.Info{Items: 7, Bytes: 700}, snapshot.Part{ID: "0000/0003", Items: 3, Bytes: 234}},
		{7, n, snapshot.Info{Items: -1, Bytes: 700}, snapshot.Part{ID: "0000/0003", Items: -1, Bytes: 234}},
		{0, nil, snapshot.Info{Items: -1, Bytes: -1}, snapshot.Part{ID: "0000/0003", Items: -1, Bytes: -1}},
	} {
		table := &fakeTable{items: test.counted}
		s := open(t, table.client(), scan.Options{Table: "shop", Segments: 3, Narrowing: test.narrowing})
		if info := s.Info(); info.Items != test.info.Items || info.Bytes != test.info.Bytes || s.Parts()[0] != test.part || len(s.Parts()) != 3 {
			t.Errorf("of %d items: %+v and %+v", test.counted, info, s.Parts())
		}
	}
}
