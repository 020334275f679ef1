package snapshot_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/sdkvalue"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

func TestExpression(t *testing.T) {
	for _, test := range []struct {
		o    snapshot.NarrowingOptions
		want string
	}{
		{snapshot.NarrowingOptions{}, ``},
		{snapshot.NarrowingOptions{Types: []string{"Order"}}, `Type IN (Order)`},
		{snapshot.NarrowingOptions{Types: []string{"a", "b", "k=c"}}, `(Type IN (a, b) OR k IN (c))`},
		{snapshot.NarrowingOptions{KeyPrefix: "A", PartitionKey: "PK"}, `(begins_with(PK, A) OR begins_with(PK, 0x41))`},
		{snapshot.NarrowingOptions{Types: []string{"o"}, Filter: `item.Paid == true`}, `Type IN (o) AND Paid = true`},
		{snapshot.NarrowingOptions{Filter: `item.N > 1`}, ``},
		{snapshot.NarrowingOptions{Filter: `item.N > 1 && item.A != "x"`}, `(attribute_not_exists(A) OR NOT A IN (x))`},
		{snapshot.NarrowingOptions{Filter: `item.A == "x" || item.N > 1`}, ``},
		{snapshot.NarrowingOptions{Filter: `item.B == "y" && (item.A == "x" || item.N > 1)`}, `B IN (y)`},
		{snapshot.NarrowingOptions{Filter: `item.B == "y" || item.C == "z" && (item.A == "x" || item.N > 1)`}, `(B IN (y) OR C IN (z))`},
		{snapshot.NarrowingOptions{Filter: `!(item.A == "x" && item.B == "y")`}, `((attribute_not_exists(A) OR NOT A IN (x)) OR (attribute_not_exists(B) OR NOT B IN (y)))`},
		{snapshot.NarrowingOptions{Filter: `item.A.startsWith("x")`}, `(begins_with(A, x) OR attribute_exists(A) AND NOT attribute_type(A, S))`},
		{snapshot.NarrowingOptions{Filter: `item.A == ""`}, ``},
		{snapshot.NarrowingOptions{Types: []string{strings.Repeat("long", 2000)}}, `Type IN (` + strings.Repeat("long", 2000) + `)`},
		{snapshot.NarrowingOptions{Types: manyTypes(101)}, ``},
		{snapshot.NarrowingOptions{Types: []string{"Order"}, Filter: `!(` + strings.Join(comparisons(200), " || ") + `)`}, `Type IN (Order)`},
	} {
		e := narrowing(t, test.o).Expression()
		if got := readable(e); got != test.want {
			t.Errorf("%+v becomes %s, want %s", test.o, got, test.want)
		}
		for p := range e.Names {
			if !strings.Contains(e.Text, p) {
				t.Errorf("%s has no %s", e.Text, p)
			}
		}
		for p := range e.Values {
			if !strings.Contains(e.Text, p) {
				t.Errorf("%s has no %s", e.Text, p)
			}
		}
	}
}

func manyTypes(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("t", i))
	}
	return names
}

func comparisons(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("item.A%d == %q", i%7, fmt.Sprint(i)))
	}
	return texts
}

// readable replaces the placeholders.
func readable(e snapshot.Expression) string {
	var pairs []string
	for p, name := range e.Names {
		pairs = append(pairs, p, name)
	}
	for p, v := range e.Values {
		text := string(v.Raw())
		if s, ok := v.Text(); ok {
			text = s
		}
		if b, ok := v.Bytes(); ok {
			text = fmt.Sprintf("%#x", b)
		}
		pairs = append(pairs, p, text)
	}
	for i := 0; i < len(pairs); i += 2 { // :v1 must not replace the start of :v10
		for _, end := range []string{" ", ",", ")"} {
			e.Text = strings.ReplaceAll(e.Text+" ", pairs[i]+end, pairs[i+1]+end)
			e.Text = strings.TrimSuffix(e.Text, " ")
		}
	}
	return e.Text
}

// DynamoDB leaves out no item that Match selects or fails for, whatever types the attributes have.
func TestExpression_SelectsWhatMatchSelects(t *testing.T) {
	client := dynamotest.Open(t).Client(t.Name(), nil)
	for _, kind := range []types.ScalarAttributeType{types.ScalarAttributeTypeS, types.ScalarAttributeTypeB} {
		items := fillTable(t, client, "items-"+string(kind), kind)
		rapid.Check(t, func(t *rapid.T) {
			o := snapshot.NarrowingOptions{PartitionKey: "PK"}
			o.Types = rapid.SliceOfN(rapid.SampledFrom([]string{"x", "xy", "A=x", "A=y", "B=xy"}), 0, 3).Draw(t, "types")
			o.KeyPrefix = rapid.SampledFrom([]string{"", "x", "x1", "é"}).Draw(t, "prefix")
			if rapid.Bool().Draw(t, "filtered") {
				o.Filter = drawFilter(t, 3)
			}
			n, err := snapshot.NewItemSelection(o)
			if err != nil {
				t.Fatal(err)
			}
			found := scanKeys(t, client, "items-"+string(kind), n.Expression())
			for key, m := range items {
				match, err := n.Match(&record.Change{Op: record.Snapshot, Keys: m, New: m})
				if (match || err != nil) && !found[key] {
					t.Fatalf("%s leaves out %s, which %s selects (%v)", readable(n.Expression()), m.Bytes(), n, err)
				}
			}
		})
	}
}

// drawFilter draws an expression of comparisons. DynamoDB does not evaluate some of them.
func drawFilter(t *rapid.T, depth int) string {
	if depth > 0 && rapid.Bool().Draw(t, "deeper") {
		a, b := drawFilter(t, depth-1), drawFilter(t, depth-1)
		return fmt.Sprintf(rapid.SampledFrom([]string{"(%s && %s)", "(%s || %s)", "!(%s && %s)", "!(%s || %s)"}).Draw(t, "join"), a, b)
	}
	attribute := rapid.SampledFrom([]string{"A", "B", "Type", "PK"}).Draw(t, "attribute")
	text := rapid.SampledFrom([]string{"", "x", "xy", "é", `\"`}).Draw(t, "text")
	form := rapid.SampledFrom([]string{`item.%s == "%s"`, `item.%s != "%s"`, `item.%s in ["%s", "y"]`, `!(item.%s in ["%s", "y"])`,
		`item.%s.startsWith("%s")`, `!item.%s.startsWith("%s")`, `item.%s == true || "%s" == "x"`, `item.%s != false || "%s" == "y"`, `item.%s < "%s"`}).Draw(t, "form")
	return "(" + fmt.Sprintf(form, attribute, text) + ")"
}

// fillTable makes a table whose items have all types in A, B and Type.
func fillTable(t *testing.T, client *dynamodb.Client, table string, kind types.ScalarAttributeType) map[string]item.Image {
	t.Helper()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(table),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: kind}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash}},
		BillingMode:          types.BillingModePayPerRequest,
	})
	if err != nil {
		t.Fatal(err)
	}
	values := []string{``, `{"S":"x"}`, `{"S":"xy"}`, `{"S":"é"}`, `{"S":""}`, `{"B":"eA=="}`, `{"N":"1"}`, `{"BOOL":true}`, `{"BOOL":false}`, `{"NULL":true}`, `{"SS":["x"]}`, `{"L":[{"S":"x"}]}`, `{"M":{"x":{"S":"x"}}}`}
	items := map[string]item.Image{}
	for i := range 3 * len(values) {
		key := fmt.Sprint([]string{"x", "y", "é"}[i%3], i)
		pk := key
		if kind == types.ScalarAttributeTypeB {
			pk = base64.StdEncoding.EncodeToString([]byte(key))
		}
		doc := fmt.Sprintf(`{"PK":{"%s":"%s"}`, kind, pk)
		for j, name := range []string{"A", "B", "Type"} {
			if v := values[(i/(1+2*j)+j)%len(values)]; v != "" {
				doc += fmt.Sprintf(`,"%s":%s`, name, v)
			}
		}
		m := image(t, doc+"}")
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: sdkvalue.Item(m)}); err != nil {
			t.Fatal(err)
		}
		items[key] = m
	}
	return items
}

// scanKeys returns the keys of the items that match the expression.
func scanKeys(t *rapid.T, client *dynamodb.Client, table string, e snapshot.Expression) map[string]bool {
	in := &dynamodb.ScanInput{TableName: aws.String(table)}
	if e.Text != "" {
		in.FilterExpression, in.ExpressionAttributeNames = aws.String(e.Text), e.Names
		in.ExpressionAttributeValues = map[string]types.AttributeValue{}
		for p, v := range e.Values {
			in.ExpressionAttributeValues[p] = sdkvalue.Of(v)
		}
	}
	out, err := client.Scan(context.Background(), in)
	if err != nil {
		t.Fatalf("%s: %v", readable(e), err)
	}
	keys := map[string]bool{}
	for _, it := range out.Items {
		switch pk := it["PK"].(type) {
		case *types.AttributeValueMemberS:
			keys[pk.Value] = true
		case *types.AttributeValueMemberB:
			keys[string(pk.Value)] = true
		}
	}
	return keys
}
