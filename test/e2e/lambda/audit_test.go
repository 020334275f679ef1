package lambda

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/test/e2e/world"
)

// auditedItems has one sink, a view whose keys are sensitive.
const auditedItems = `
version: 1
name: '${NAME}'
source: {table: SOURCE, emulator: dynamodb-local}
state: {table: '${STATE}'}
sensitive: [PK]
hmac_key: '${STATE}'
sinks:
  rows: {view: {table: '${VIEWS}', key: {PK: '{PK}', SK: row}, attributes: {n: '{n}'}, allow_sensitive: [PK]}}
dead_letters: {bucket: '${BUCKET}', prefix: dead/}
`

// summary has the parts of the answer to an audit that tests check.
type summary struct {
	Items, Differing, Open int64
	Coverage               float64
	Incomplete             string
}

// auditor returns a function that audits the rows of four items. Another function wrote these rows from the stream.
func auditor(t *testing.T, timeout time.Duration) *function {
	t.Helper()
	w := world.New(t, world.Running(t))
	table := w.Pipeline + "-source"
	arn, shard := source(t, w, table)
	text := strings.Replace(auditedItems, "SOURCE", table, 1)
	env := []string{"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + w.To.DynamoDB}
	sequences := streamed(t, w, arn, shard)
	f := deploy(t, w, text, deployment{env: env})
	f.answers(t, queued(t, place(arn, shard, sequences[0], sequences[3], 4)), succeeded)
	f.fails(t, []byte(`{"tablewake":"audit"}`), "Error", "TABLEWAKE_COMMAND=audit")
	return deploy(t, w, text, deployment{env: append(env, "TABLEWAKE_COMMAND=audit"), without: true, timeout: timeout})
}

// audit invokes the function, and returns its answer and the metrics of the invocation.
func (f *function) audit(t *testing.T, event string) (s summary, metrics map[string]float64) {
	t.Helper()
	before := len(documents(f.Log()))
	answer, err := f.Invoke(t.Context(), []byte(event))
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	if err := json.Unmarshal(answer, &s); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	metrics = make(map[string]float64)
	for _, doc := range documents(f.Log())[before:] {
		for name, v := range doc {
			if n, ok := v.(float64); ok && doc["sink"] == nil && strings.HasPrefix(name, "tablewake.audit.") {
				metrics[name] = n
			}
		}
	}
	return s, metrics
}

const wholeTable = `{"tablewake":"audit","sample":2,"segments":2,"rcu":0,"lag":"100ms","sinks":["rows"]}`

// A function finds a difference, logs its place without sensitive values, and counts it.
func TestAnAuditFindsADifference(t *testing.T) {
	t.Parallel()
	f := auditor(t, 0)
	s, metrics := f.audit(t, wholeTable)
	if s != (summary{Items: 4, Coverage: 1}) {
		t.Errorf("of equal rows: %+v", s)
	}
	if _, found := metrics["tablewake.audit.differences"]; found || metrics["tablewake.audit.complete"] != 1 || metrics["tablewake.audit.coverage"] != 1 {
		t.Errorf("of equal rows: %v", metrics)
	}
	tables := dynamodb.NewFromConfig(f.SDK)
	for _, key := range []string{"b", "c"} {
		if _, err := tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &f.Table, Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: key}, "SK": &types.AttributeValueMemberS{Value: "row"},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	s, metrics = f.audit(t, wholeTable)
	if s != (summary{Items: 4, Differing: 2, Coverage: 1}) {
		t.Errorf("of two rows that are missing: %+v", s)
	}
	if metrics["tablewake.audit.differences"] != 2 || metrics["tablewake.audit.complete"] != 1 {
		t.Errorf("of two rows that are missing: %v", metrics)
	}
	lines := 0
	for line := range strings.Lines(f.Log()) {
		if !strings.Contains(line, "an entry differs") {
			continue
		}
		lines++
		if !strings.Contains(line, "missing") || !strings.Contains(line, "rows") || strings.Contains(line, `PK=b`) || strings.Contains(line, `"b"`) {
			t.Errorf("it logs %s", line)
		}
	}
	if lines != 2 {
		t.Errorf("%d lines tell of two differences", lines)
	}
}

// An audit that runs out of time reports that it is incomplete, and how much it compared.
func TestAnAuditThatIsCutOffIsIncomplete(t *testing.T) {
	t.Parallel()
	f := auditor(t, 15*time.Second) // the function keeps a tenth of this time for its answer
	tables := dynamodb.NewFromConfig(f.SDK)
	table := f.Pipeline + "-source"
	for i := range 200 {
		if _, err := tables.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: fmt.Sprintf("more%d", i)}, "n": &types.AttributeValueMemberN{Value: fmt.Sprint(i)},
			"Text": &types.AttributeValueMemberS{Value: strings.Repeat("x", 8000)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, event := range map[string]string{
		"slow": strings.Replace(wholeTable, `"rcu":0`, `"rcu":1`, 1),
		"late": strings.Replace(wholeTable, "100ms", "1h", 1),
	} {
		s, metrics := f.audit(t, event)
		if !strings.Contains(s.Incomplete, "the time was over") || metrics["tablewake.audit.complete"] != 0 || metrics["tablewake.audit.coverage"] != s.Coverage {
			t.Errorf("%s: %+v, %v", name, s, metrics)
		}
		if name == "slow" && s.Coverage != 0 || name == "late" && s.Coverage == 1 && s.Open == 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// An event that is not a request of an audit, or names an unknown sink, fails and does not count as a complete audit.
func TestAnEventThatIsNoAuditIsRefused(t *testing.T) {
	t.Parallel()
	f := auditor(t, 0)
	f.fails(t, []byte(`{"tablewake":"audit","samples":2}`), "Error", `unknown field "samples"`)
	f.fails(t, []byte(`{"tablewake":"redrive"}`), "Error", `write {"tablewake":"audit","sample":1`)
	f.fails(t, event(product(1, "a")), "Error", `write {"tablewake":"audit","sample":1`)
	f.fails(t, []byte(`{"tablewake":"audit","sinks":["columns"]}`), "Error", "columns")
	docs := documents(f.Log())
	if len(docs) == 0 || docs[len(docs)-1]["tablewake.audit.complete"] != 0.0 {
		t.Errorf("the metrics are %v", docs)
	}
}
