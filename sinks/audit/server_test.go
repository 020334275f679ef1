package audit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/test/server"
)

// servers is a world with stores on DynamoDB Local and OpenSearch.
type servers struct {
	*world
	client *dynamodb.Client
	http   *http.Client
	search string // URL of the index
	name   string // name of the table of rows
}

func newServers(t *testing.T, file string) *servers {
	t.Helper()
	endpoint, search := server.DynamoDB().Endpoint(t), ""
	name := fmt.Sprintf("audit%d", rand.Uint64())
	file = strings.ReplaceAll(file, "table: views", "table: "+name)
	file = strings.ReplaceAll(file, "name: shop", "name: "+name)
	if strings.Contains(file, "search:") {
		search = server.OpenSearch().Endpoint(t)
		file = strings.ReplaceAll(file, "search: {index: products}", "search: {index: "+name+", connection: os}")
		file += fmt.Sprintf("connections: {os: {opensearch: '%s', auth: none}}\n", search)
	}
	file += fmt.Sprintf("state: {table: %s-state}\n", name)
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	sdk := awssdk.Config{HTTPClient: plain, Region: server.Region, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""), BaseEndpoint: &endpoint}
	client := dynamodb.NewFromConfig(sdk)
	stores := aws.Stores(sdk, aws.Create())
	t.Cleanup(func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
		for _, table := range []string{name, name + "-state"} {
			if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
				t.Error(err)
			}
		}
	})
	w := &world{t: t, cfg: parse(t, file), stores: stores, items: make(map[string]string), seq: 100}
	return &servers{w, client, plain, search + "/" + name, name}
}

func key(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: sk}}
}

func (s *servers) remove(pk, sk string) {
	s.t.Helper()
	if _, err := s.client.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &s.name, Key: key(pk, sk)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *servers) set(pk, sk, attribute, number string) {
	s.t.Helper()
	_, err := s.client.UpdateItem(s.t.Context(), &dynamodb.UpdateItemInput{
		TableName: &s.name, Key: key(pk, sk), UpdateExpression: awssdk.String("SET #a = :v"), ConditionExpression: awssdk.String("attribute_exists(#a)"),
		ExpressionAttributeNames: map[string]string{"#a": attribute}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: number}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// forget deletes the one entry of the given kind, sink and item from the state table.
func (s *servers) forget(kind, sink, item string) {
	s.t.Helper()
	table := s.name + "-state"
	found, err := s.client.Scan(s.t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		s.t.Fatal(err)
	}
	deleted := 0
	for _, it := range found.Items {
		pk, _ := it["pk"].(*types.AttributeValueMemberS)
		if pk == nil || !strings.Contains(pk.Value, "#"+kind+"#"+sink+"#") || !strings.HasSuffix(pk.Value, "#"+item) {
			continue
		}
		if _, err := s.client.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}}); err != nil {
			s.t.Fatal(err)
		}
		deleted++
	}
	if deleted != 1 {
		s.t.Fatalf("the state has %d entries %s of %s in %s, want 1", deleted, kind, item, sink)
	}
}

func (s *servers) post(method, path, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.search+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		s.t.Fatalf("%s %s: %s", method, path, answer.Status)
	}
}

// The audit finds and repairs differences on DynamoDB and OpenSearch like differences of the embedded stores.
func TestServers(t *testing.T) {
	s := newServers(t, shop)
	fill(s.world)
	s.put("P1", product(2, "N1", 11)) // moves to another shelf
	s.put("P3", "")
	for _, name := range names {
		s.want(name)
	}

	s.remove("PRODUCTS#S0", "P0")
	s.set("PRODUCTS#S2", "P1", "price", "12")
	s.remove("NAME#N2", "P")
	s.forget("guard", "names", "P4")
	s.forget("contribution", "tags", "P0")
	s.set("TAG#y2", "N", "products", "99")
	s.post(http.MethodDelete, "/_doc/P0?refresh=true", "")
	s.post(http.MethodPost, "/_update/P2?refresh=true", `{"doc":{"Name":"other"}}`)
	s.change("P9", "")
	s.want("products", `missing row PK="PRODUCTS#S0" SK="P0"`, `wrong row PK="PRODUCTS#S2" SK="P1": price`, `extra row PK="PRODUCTS#S0" SK="P9"`)
	s.want("names", `missing row PK="NAME#N2" SK="P"`, `missing guard P4`, `extra guard P9`, `extra claim PK="NAME#N9" SK="P"`, `extra row PK="NAME#N9" SK="P"`)
	s.want("tags", `missing contribution P0`, `extra contribution P9`, `wrong group PK="TAG#x" SK="N": _tw, products, shelves`,
		`wrong group PK="TAG#y0" SK="N": _tw, products, shelves`, `wrong group PK="TAG#y2" SK="N": products`)
	s.want("documents", "missing document "+s.name+"/P0", "wrong document "+s.name+"/P2: Name", "extra document "+s.name+"/P9")
	s.repaired("products", "names", "tags", "documents")
}

// The audit finds and repairs differences of a view with for_each on DynamoDB like differences of the embedded store.
func TestServers_ItemRows(t *testing.T) {
	s := newServers(t, lineShop)
	s.put("P0", order("zero", "x", "y"))
	s.put("P1", order("one", "x", "z"))
	s.put("P1", order("one", "z"))
	s.put("P2", order("two", "x"))
	s.want("lines")
	s.want("tags")

	s.remove("SKU#x", "L#P0")
	s.set("SKU#y", "L#P0", "qty", "7")
	s.forget("contribution", "lines", "P2")
	s.change("P1", "")
	s.want("lines", `missing row PK="SKU#x" SK="L#P0"`, `wrong row PK="SKU#y" SK="L#P0": qty`, `missing contribution P2`,
		`extra contribution P1`, `extra row PK="SKU#z" SK="L#P1"`)
	s.want("tags", `extra contribution P1`, `extra row PK="TAG#a" SK="T#P1"`, `extra row PK="TAG#b" SK="T#P1"`)
	s.repaired("lines", "tags")
}
