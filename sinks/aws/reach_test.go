package aws_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/view"
	"github.com/tablewake/tablewake/test/server"
)

// write writes a row and its removal, and returns what a plain Scan of the table finds afterwards.
func write(t *testing.T, store view.Store, table, view1 string, scan *dynamodb.Client) []map[string]types.AttributeValue {
	t.Helper()
	at := view.Target{Table: view.Table{Name: table, PK: "PK"}, View: view1, Pipeline: "shop", InPlace: true}
	for n, gone := range []bool{false, true} {
		v, err := record.ParseVersion(fmt.Sprintf("1767323045%040d", n+1))
		if err != nil {
			t.Fatal(err)
		}
		rs, err := store.Apply(t.Context(), at, []view.Mutation{{PK: item.StringValue("a"), Version: v, Source: "a", Tombstone: gone}})
		if err != nil || rs[0] != (view.Result{}) {
			t.Fatalf("%+v, %v", rs, err)
		}
	}
	out, err := scan.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	return out.Items
}

// If the file has the ARN of a table in another Region, the table of the same name in this Region is never used
// instead.
func TestTablesOfAnotherRegion(t *testing.T) {
	endpoint := server.DynamoDB().Endpoint(t)
	elsewhere := "'arn:aws:dynamodb:ap-southeast-2:123456789012:table/%s'"
	for setting, file := range map[string]string{
		"state.table is arn:":     "state: {table: " + fmt.Sprintf(elsewhere, "away-state") + "}\nsinks: {sums: {aggregate: {table: away, group: {PK: '{Status}'}, values: {n: count}, on_ttl_delete: keep}}}\n",
		"is in another Region":    "state: {table: away-state}\nsinks: {sums: {aggregate: {table: " + fmt.Sprintf(elsewhere, "away") + ", group: {PK: '{Status}'}, values: {n: count}, on_ttl_delete: keep}}}\n",
		"the table arn:aws:dynam": "state: {table: away-state}\nsinks: {rows: {view: {table: " + fmt.Sprintf(elsewhere, "away") + ", key: {PK: '{Status}'}}}}\n",
	} {
		cfg, err := config.Parse("tablewake.yaml", []byte("version: 1\nname: away\nsource: {table: away-source}\n"+file), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		stores := aws.Stores(sdk(endpoint), aws.Create())
		_, err = sinks.Assemble(t.Context(), cfg, stores)
		if err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s: %v", setting, err)
		}
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	}
	here := dynamodb.NewFromConfig(sdk(endpoint))
	for _, table := range []string{"away", "away-state"} {
		_, _ = here.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table})
	}
}

// A view with tombstones: in_place needs no transactions. It works without a state table, and also with the ARN of a
// table in another Region.
func TestInPlaceNeedsNoTransaction(t *testing.T) {
	endpoint := server.DynamoDB().Endpoint(t)
	name := fmt.Sprintf("reach%d", rand.Uint64())
	for what, c := range map[string]struct{ file, region string }{
		"no state":       {"", server.Region},
		"another Region": {fmt.Sprintf("state: {table: %s-state}\n", name), "ap-southeast-2"},
	} {
		t.Run(what, func(t *testing.T) {
			there := dynamodb.NewFromConfig(sdk(endpoint), func(o *dynamodb.Options) { o.Region = c.region })
			here := dynamodb.NewFromConfig(sdk(endpoint))
			table := name + "-" + strings.ReplaceAll(what, " ", "-")
			t.Cleanup(func() {
				_, _ = there.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table})
				state := name + "-state"
				_, _ = here.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &state})
			})
			written := table
			if c.region != server.Region {
				written = "arn:aws:dynamodb:" + c.region + ":123456789012:table/" + table
			}
			cfg := parse(t, c.file+"sinks:\n  rows: {view: {table: '"+written+"', key: {PK: '{@key}'}, tombstones: in_place}}\n")
			stores := aws.Stores(sdk(endpoint), aws.Create())
			defer stores.Close()
			if _, err := sinks.Assemble(t.Context(), cfg, stores); err != nil {
				t.Fatal(err)
			}
			store, err := stores.View(t.Context(), cfg, cfg.Sinks[0])
			if err != nil {
				t.Fatal(err)
			}
			if items := write(t, store, table, "rows", there); len(items) != 1 || items[0]["_tw_expires"] == nil {
				t.Errorf("the table has %v, want one tombstone", items)
			}
		})
	}
}

// If no transaction can contain both the rows and the state, sinks that need transactions are refused when they are
// opened. The error says what to do instead. A view with tombstones: in_place is accepted.
func TestBeyondTransactions(t *testing.T) {
	describe := func(arn, consistency string) string {
		return `{"Table":{"TableName":"x","TableStatus":"ACTIVE","TableArn":"` + arn + `","MultiRegionConsistency":"` + consistency + `",
			"KeySchema":[{"AttributeName":"PK","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"}]}}`
	}
	const near = "arn:aws:dynamodb:eu-central-1:123456789012:table/x"
	apart := "view: {table: rows, key: {PK: '{@key}'}}"
	inPlace := "view: {table: rows, key: {PK: '{@key}'}, tombstones: in_place}"
	claimed := "view: {table: rows, key: {PK: 'EMAIL#{Email|lower}'}}"
	sums := "aggregate: {table: rows, group: {PK: 'g#{Type}'}, values: {n: count}, on_ttl_delete: keep}"
	for _, c := range []struct{ name, rows, state, sink, want string }{
		{"near", describe(near, ""), describe(near, ""), apart, ""},
		{"eventual", describe(near, "EVENTUAL"), describe(near, ""), apart, ""},
		{"strong rows", describe(near, "STRONG"), describe(near, ""), apart, "the table rows is replicated with multi-Region strong consistency|or write tombstones: in_place"},
		{"strong state", describe(near, ""), describe(near, "STRONG"), apart, "the table state is replicated with multi-Region strong consistency|or write tombstones: in_place"},
		{"another account", describe(strings.Replace(near, "123456789012", "210987654321", 1), ""), describe(near, ""), apart, "(eu-central-1:123456789012 and eu-central-1:210987654321)|or write tombstones: in_place"},
		{"strong rows that items claim", describe(near, "STRONG"), describe(near, ""), claimed, "strong consistency|put {@key} into the row's key"},
		{"strong rows of groups", describe(near, "STRONG"), describe(near, ""), sums, "strong consistency|give both one account"},
		{"strong rows in place", describe(near, "STRONG"), describe(near, "STRONG"), inPlace, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dynamo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				switch op := r.Header.Get("X-Amz-Target"); {
				case strings.HasSuffix(op, ".Query"), strings.HasSuffix(op, ".Scan"):
					fmt.Fprint(w, `{"Count":0,"ScannedCount":0,"Items":[]}`)
				case !strings.HasSuffix(op, "DescribeTable"):
					fmt.Fprint(w, "{}")
				case strings.Contains(string(body), `"state"`):
					fmt.Fprint(w, strings.Replace(strings.Replace(c.state, `"KeySchema":[{"AttributeName":"PK"`, `"KeySchema":[{"AttributeName":"sk","KeyType":"RANGE"},{"AttributeName":"pk"`, 1),
						`[{"AttributeName":"PK","AttributeType":"S"}]`, `[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}]`, 1))
				default:
					fmt.Fprint(w, c.rows)
				}
			}))
			defer dynamo.Close()
			stores := aws.Stores(sdk(dynamo.URL))
			defer stores.Close()
			cfg := parse(t, "state: {table: state}\nsinks:\n  s: {"+c.sink+"}\n")
			var err error
			if s := cfg.Sinks[0]; s.View != nil {
				_, err = stores.View(t.Context(), cfg, s)
			} else {
				_, err = stores.Aggregate(t.Context(), cfg, s)
			}
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && err == nil:
				t.Error("it was opened")
			}
			for _, want := range strings.Split(c.want, "|") {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
}
