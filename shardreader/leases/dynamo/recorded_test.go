package dynamo_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/shardreader/leases/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// recorded are the tables of an application at one moment.
type recorded struct {
	name   string
	tables map[string][]dynamo.Item
	format dynamo.RowFormat
}

// recordings are all of testdata.
func recordings(t *testing.T) []recorded {
	t.Helper()
	forms := map[string]dynamo.RowFormat{
		"adapter-1.6.0":      {Version: dynamo.Adapter1},
		"kcl-3.5.1-upgraded": {Version: dynamo.Adapter2},
		"kcl-1.6.1":          {Version: dynamo.Adapter1},
		"kcl-2.0.1":          {Version: dynamo.Adapter2},
		"kcl-2.0.1-streams":  {Version: dynamo.Adapter2, Streams: true},
		"kcl-3.5.1":          {Version: dynamo.KCL35},
	}
	paths, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d recordings (%v)", len(paths), err)
	}
	var all []recorded
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string][]map[string]map[string]any
		if err := json.Unmarshal(b, &raw); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		format, known := forms[filepath.Base(filepath.Dir(path))]
		if !known {
			t.Fatalf("%s is of no known format", path)
		}
		r := recorded{strings.TrimPrefix(strings.TrimSuffix(path, ".json"), "testdata/"), make(map[string][]dynamo.Item), format}
		for table, rows := range raw {
			for _, row := range rows {
				item := make(dynamo.Item)
				for name, v := range row {
					item[name] = attribute(t, v)
				}
				r.tables[table] = append(r.tables[table], item)
			}
		}
		all = append(all, r)
	}
	return all
}

func attribute(t *testing.T, v map[string]any) types.AttributeValue {
	t.Helper()
	for kind, v := range v {
		switch kind {
		case "S":
			return &types.AttributeValueMemberS{Value: v.(string)}
		case "N":
			return &types.AttributeValueMemberN{Value: v.(string)}
		case "B":
			b, err := base64.StdEncoding.DecodeString(v.(string))
			if err != nil {
				t.Fatal(err)
			}
			return &types.AttributeValueMemberB{Value: b}
		case "SS":
			ss := &types.AttributeValueMemberSS{}
			for _, s := range v.([]any) {
				ss.Value = append(ss.Value, s.(string))
			}
			return ss
		case "L":
			l := &types.AttributeValueMemberL{}
			for _, e := range v.([]any) {
				l.Value = append(l.Value, attribute(t, object(e)))
			}
			return l
		case "M":
			m := &types.AttributeValueMemberM{Value: make(dynamo.Item)}
			for name, e := range v.(map[string]any) {
				m.Value[name] = attribute(t, object(e))
			}
			return m
		}
	}
	t.Fatalf("%v is no attribute value", v)
	return nil
}

func object(v any) map[string]any {
	m := make(map[string]any)
	maps.Copy(m, v.(map[string]any))
	return m
}

// restore makes the tables of r in a new world; its lease table is the world's.
func restore(t *testing.T, server *dynamotest.Server, r recorded) world {
	t.Helper()
	w := open(t, server, nil)
	for table, rows := range r.tables {
		if table == "orders-kcl" {
			table = "leases"
		} else {
			w.table(t, table, map[bool]string{true: "wid", false: "key"}[strings.HasSuffix(table, "Stats")])
		}
		for _, row := range rows {
			w.put(t, table, row)
		}
	}
	return w
}

func (w world) table(t *testing.T, name, key string) {
	t.Helper()
	_, err := w.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w world) put(t *testing.T, table string, row dynamo.Item) {
	t.Helper()
	if _, err := w.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: row}); err != nil {
		t.Fatal(err)
	}
}

// rows are all rows of a table, by key.
func (w world) rowsOf(t *testing.T, table, key string) map[string]dynamo.Item {
	t.Helper()
	out, err := w.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]dynamo.Item)
	for _, row := range out.Items {
		rows[s(row, key)] = row
	}
	return rows
}

// s is an S; "" if there is none.
func s(row dynamo.Item, name string) string {
	v, _ := row[name].(*types.AttributeValueMemberS)
	if v == nil {
		return ""
	}
	return v.Value
}

// n is an N; "" if there is none.
func n(row dynamo.Item, name string) string {
	v, _ := row[name].(*types.AttributeValueMemberN)
	if v == nil {
		return ""
	}
	return v.Value
}

// ss is an SS in order.
func ss(row dynamo.Item, name string) []string {
	v, _ := row[name].(*types.AttributeValueMemberSS)
	if v == nil {
		return nil
	}
	return slices.Sorted(slices.Values(v.Value))
}

// alike compares rows: sets have no order.
func alike(a, b dynamo.Item) bool {
	ordered := func(row dynamo.Item) dynamo.Item {
		row = maps.Clone(row)
		for name := range row {
			if set := ss(row, name); set != nil {
				row[name] = &types.AttributeValueMemberSS{Value: set}
			}
		}
		return row
	}
	return reflect.DeepEqual(ordered(a), ordered(b))
}
