package plan_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/plan"
	"github.com/tablewake/tablewake/cmd/internal/replay"
)

var program = clitest.Program{plan.New, replay.New}

// planned is a part of the output of `plan -o json`.
type planned struct {
	Cost struct {
		Unknown string `json:"unknown"`
		Sampled int64  `json:"sampled_items"`
		Items   int64  `json:"items"`
		Sinks   []struct {
			Sink       string  `json:"sink"`
			Items      int64   `json:"items"`
			Entries    int64   `json:"entries"`
			WriteUnits float64 `json:"write_units"`
			Dollars    float64 `json:"dollars"`
		} `json:"sinks"`
		Table struct {
			Items       int64   `json:"items"`
			Bytes       int64   `json:"bytes"`
			SampleUnits float64 `json:"sample_read_units"`
			ScanUnits   float64 `json:"scan_read_units"`
		} `json:"table"`
	} `json:"cost"`
}

// filledTable makes a source table in which every second item is a paid order, and a file whose sinks are new.
func filledTable(t *testing.T, items, padding int) (file string) {
	t.Helper()
	file, name, tables := clitest.OnServers(t)
	var puts []types.TransactWriteItem
	for i := range items {
		status := []string{"open", "paid"}[i%2]
		puts = append(puts, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(name + "-source"), Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: fmt.Sprintf("o%04d", i)}, "Status": &types.AttributeValueMemberS{Value: status},
			"Text": &types.AttributeValueMemberS{Value: strings.Repeat("x", padding)},
		}}})
		if len(puts) == 10 || i == items-1 {
			if _, err := tables.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: puts}); err != nil {
				t.Fatal(err)
			}
			puts = nil
		}
	}
	return file
}

func planOf(t *testing.T, args ...string) (p planned) {
	t.Helper()
	text, said := program.Run(t, cli.ExitPlanned, append([]string{"plan", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s%s", err, text, said)
	}
	return p
}

// The cost of filling is computed from a sample of the table. The sample has as many items as --sample says, and is
// scaled to DynamoDB's count.
func TestSample(t *testing.T) {
	file := filledTable(t, 400, 1)
	whole := planOf(t, "-c", file, "--live")
	if c := whole.Cost; c.Sampled != 400 || c.Items != 400 || c.Table.SampleUnits <= 0 || c.Table.ScanUnits < c.Table.SampleUnits {
		t.Fatalf("of the whole table: %+v", c)
	}
	units := make(map[string]float64)
	for _, s := range whole.Cost.Sinks {
		units[s.Sink] = s.WriteUnits
		want := map[string]int64{"orders": 400, "paid": 200, "docs": 400}[s.Sink]
		if s.Items != want || s.Entries != want || (s.WriteUnits > 0) != (s.Sink != "docs") || (s.Dollars > 0) != (s.Sink != "docs") {
			t.Errorf("of the whole table: %+v, want %d items", s, want)
		}
	}
	part := planOf(t, "-c", file, "--live", "--sample", "100")
	if c := part.Cost; c.Sampled != 100 || c.Items != 400 || c.Table.Items != 400 || c.Table.Bytes == 0 {
		t.Errorf("of a hundred: %+v", c)
	}
	for _, s := range part.Cost.Sinks {
		if s.Sink == "orders" && (s.Items != 400 || s.WriteUnits != units["orders"]) {
			t.Errorf("by a hundred items the whole table costs %+v, want %v write units", s, units["orders"])
		}
		if s.Sink == "paid" && (s.Items < 80 || s.Items > 320) { // 20 to 80 of the hundred
			t.Errorf("by a hundred items the whole table costs %+v, want about 200 items", s)
		}
	}
	if c := planOf(t, "-c", file, "--live", "--sample", "100", "--total", "1000000").Cost; c.Items != 1_000_000 || c.Sinks[0].WriteUnits != 2500*units["orders"] {
		t.Errorf("of a million: %+v", c)
	}
	text, _ := program.Run(t, cli.ExitPlanned, "plan", "-c", file, "--live", "--sample", "100")
	for _, want := range []string{"filling, of 400 items, by a sample of 100, at $0.625", "the table has 400 items of ", "up to six hours old; the sample took ", "backfill --scan reads the table for about "} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q: %s", want, text)
		}
	}
	if c := planOf(t, "-c", file, "--live", "--sample", "0").Cost; len(c.Sinks) > 0 || !strings.Contains(c.Unknown, "--items FILE") {
		t.Errorf("without a sample: %+v", c)
	}
}

// A sample stops at two megabytes, even after few items.
func TestSampleOfLargeItems(t *testing.T) {
	c := planOf(t, "-c", filledTable(t, 20, 300_000), "--live").Cost
	if c.Sampled < 5 || c.Sampled > 11 || c.Items != 20 {
		t.Errorf("of 20 items of 300 KB: %+v", c)
	}
}

// Without the right to scan or to describe the table, plan names the missing right. It still compares the sinks.
func TestSampleWithoutRights(t *testing.T) {
	file := filledTable(t, 10, 1)
	target, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	if err != nil {
		t.Fatal(err)
	}
	for _, denied := range []string{"Scan", "DescribeTable"} {
		table := "-source"
		pass := httputil.NewSingleHostReverseProxy(target)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+denied) && strings.Contains(string(body), table) {
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no right"}`)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			pass.ServeHTTP(w, r)
		}))
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", srv.URL)
		text, _ := program.Run(t, cli.ExitPlanned, "plan", "-c", file, "--live")
		for _, want := range []string{"+ orders (table ", "what filling costs is unknown: ", "allow dynamodb:" + denied + " on the table", "`tablewake template -o policies --for backfill`", "--items FILE"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is denied, and without %q it says %s", denied, want, text)
			}
		}
		if has := strings.Contains(text, "the table has 10 items"); has != (denied == "Scan") {
			t.Errorf("%s is denied, and it says %s", denied, text)
		}
		srv.Close()
	}
}

// A sample of items may be a part of a file, cut anywhere.
func TestSampleOfCutItems(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const first = "version: 1\nname: shop\nsource: {table: shop}\nstate: {table: state}\nsinks:\n  first: {view: {table: rows, key: {PK: 'A#{@key}'}}}\n"
	for path, text := range map[string]string{
		in("first.yaml"): first, in("stream.jsonl"): clitest.Order("x", "1"),
		in("tablewake.yaml"): first + "  second: {view: {table: rows, key: {PK: 'B#{@key}'}}}\n",
		in("items.jsonl"):    `{"PK":{"S":"a"}}` + "\n" + `{"PK":{"S":"b"},"Na`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program.Run(t, cli.ExitOK, "replay", "-c", in("first.yaml"), "--local", in("out"), in("stream.jsonl"))
	text, said := program.Run(t, cli.ExitPlanned, "plan", "-c", in("tablewake.yaml"), "--local", in("out"), "--items", in("items.jsonl"), "--keys", "PK")
	if !strings.Contains(said, "1 line of --items is not an item, and costs nothing here") || !strings.Contains(text, "filling, of 1 item") {
		t.Errorf("it says %s%s", text, said)
	}
}
