package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/consume"
	"github.com/tablewake/tablewake/test/server"
)

var program = clitest.Program{New, consume.New}

const liveShop = `version: 1
name: %[1]s
source: {table: %[1]s-source, ttl_attribute: expires}
entities: {Order: {key: {PK: 'ORDER#{OrderId}'}}}
leases: {table: %[1]s-leases}
state: {table: %[1]s-state}
detect: {paid: {attribute: Status, to: paid}}
sinks:
  rows: {view: {table: %[1]s-rows, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}
  more: {view: {table: %[1]s-rows, key: {PK: 'MORE#{Status}', SK: '{@key}'}}}
  paid: {aggregate: {table: %[1]s-paid, group: {PK: PAID}, values: {n: count}, on_ttl_delete: retract}}
  log: {archive: {bucket: %[1]s, prefix: changes/}}
  queued: {notify: {queue: %[1]s-events, events: [paid]}}
  told: {notify: {topic: 'arn:aws:sns:us-east-1:123456789012:%[1]s', events: [paid]}}
  bused: {notify: {bus: %[1]s, events: [paid]}}
dead_letters: {queue: %[1]s-dead}
`

// tablesOf returns a client that bypasses the tap. At the end of the test it deletes the tables of this name.
func tablesOf(t *testing.T, name string) *dynamodb.Client {
	t.Helper()
	endpoint := server.DynamoDB().Endpoint(t)
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: server.Region,
		Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	t.Cleanup(func() {
		for _, suffix := range []string{"-source", "-state", "-leases", "-rows", "-paid"} {
			in := &dynamodb.DeleteTableInput{TableName: awssdk.String(name + suffix)}
			_, err := client.DeleteTable(context.Background(), in)
			if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !missing {
				t.Error(err)
			}
		}
	})
	return client
}

// createSource creates a source table with this key and this view type of its stream.
func createSource(t *testing.T, client *dynamodb.Client, name, key string, view types.StreamViewType) {
	t.Helper()
	in := &dynamodb.CreateTableInput{
		TableName: awssdk.String(name + "-source"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
	}
	if view != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: new(true), StreamViewType: view}
	}
	if _, err := client.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// wants checks that each of ends is the end of a line of text.
func wants(t *testing.T, text string, ends ...string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, end := range ends {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, end) }) {
			t.Errorf("no line ends with %q in\n%s", end, text)
		}
	}
}

// drop deletes a table.
func drop(t *testing.T, client *dynamodb.Client, table string) {
	t.Helper()
	if _, err := client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		t.Fatal(err)
	}
}

// Everything that is missing is reported on a line of its own, with the command that creates it. After these commands
// nothing is missing. validate makes no call that writes.
func TestLive(t *testing.T) {
	calls, name := servers(t)
	client := tablesOf(t, name)
	file := write(t, fmt.Sprintf(liveShop, name))
	live := []string{"validate", "-c", file, "--live"}

	_, said := program.Run(t, cli.ExitConfig, live...)
	const here = " in account 123456789012, Region us-east-1; "
	wants(t, said,
		":3:1: source.table: there is no table "+name+"-source"+here+
			"correct the name, AWS_REGION or AWS_PROFILE: `aws dynamodb list-tables` names the tables")
	if strings.Contains(said, "--create") {
		t.Errorf("without its source table it is to be created here:\n%s", said)
	}
	_, refused := program.Run(t, cli.ExitFailure, "consume", "-c", file, "--live", "--create", "--health", "off", "--exit-when-idle", "1s")
	if !strings.Contains(refused, "Region us-east-1: ListStreams of table "+name+"-source: not found") || strings.Contains(refused, "leases") {
		t.Errorf("consume --create says %s", refused)
	}
	calls.onlyReads(t)

	createSource(t, client, name, "id", types.StreamViewTypeKeysOnly)
	_, said = program.Run(t, cli.ExitConfig, live...)
	in := " is missing" + here + "`tablewake consume -c " + file + " --live --create` creates it"
	wants(t, said,
		"state.table: table "+name+"-state"+in, "leases.table: table "+name+"-leases"+in,
		"sinks.rows: table "+name+"-rows"+in, "sinks.paid: table "+name+"-paid"+in,
		"sinks.log: bucket "+name+in, "sinks.queued: queue "+name+"-events"+in,
		"sinks.told: topic arn:aws:sns:us-east-1:123456789012:"+name+in,
		"sinks.bused: bus "+name+in, "dead_letters.queue: queue "+name+"-dead"+in)
	if n := strings.Count(said, name+"-rows is missing"); n != 1 {
		t.Errorf("a table of two sinks is missing %d times:\n%s", n, said)
	}
	wants(t, said,
		"entities.Order.key: PK is not a key attribute of the table "+name+"-source, whose key is id; "+
			"name the attributes of the key",
		"and the same with StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES enables another",
		"source.ttl_attribute: the table "+name+"-source has no TTL; "+
			"`aws dynamodb update-time-to-live --table-name "+name+"-source "+
			"--time-to-live-specification Enabled=true,AttributeName=expires` enables it, or leave ttl_attribute out")
	_, refused = program.Run(t, cli.ExitFailure, "consume", "-c", file, "--live", "--create", "--health", "off", "--exit-when-idle", "1s")
	if !strings.Contains(refused, "has the view type KEYS_ONLY") {
		t.Errorf("consume --create says %s", refused)
	}
	if !strings.Contains(said, "but the stream has the view type KEYS_ONLY") {
		t.Errorf("the view type is not named: %s", said)
	}
	calls.onlyReads(t)

	drop(t, client, name+"-source")
	createSource(t, client, name, "PK", types.StreamViewTypeNewAndOldImages)
	if _, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               awssdk.String(name + "-source"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: awssdk.String("expires"), Enabled: new(true)},
	}); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "consume", "-c", file, "--live", "--create", "--health", "off", "--exit-when-idle", "200ms")
	calls.taken()

	text, _ := program.Run(t, cli.ExitOK, live...)
	wants(t, text,
		"account 123456789012, Region us-east-1, caller arn:aws:sts::123456789012:user/moto",
		"checked: source.table: table "+name+"-source: its key is PK",
		"checked: source.table: the stream of the table "+name+"-source: its view type is NEW_AND_OLD_IMAGES",
		"checked: source.ttl_attribute: the TTL of the table "+name+"-source: its attribute is expires",
		"checked: state.table: table "+name+"-state", "checked: leases.table: table "+name+"-leases",
		"checked: sinks.rows: table "+name+"-rows", "checked: sinks.log: bucket "+name,
		"checked: sinks.queued: queue "+name+"-events", "checked: sinks.bused: bus "+name,
		"checked: dead_letters.queue: queue "+name+"-dead",
		"not checked: rights: because the caller arn:aws:sts::123456789012:user/moto is neither a user nor a role of IAM, "+
			"whose policies can be simulated",
		file+" is valid: pipeline "+name+", 7 sinks, 1 detector, 0 filters")
	count := calls.onlyReads(t)
	for _, op := range []string{
		"DescribeTable", "ListStreams", "DescribeStream", "DescribeTimeToLive", "HEAD", "GetQueueAttributes",
		"GetTopicAttributes", "DescribeEventBus", "GetCallerIdentity",
	} {
		if count[op] == 0 {
			t.Errorf("validate does not call %s: %v", op, count)
		}
	}

	calls.answers(func(c call) (int, string) {
		if c.op == "GetQueueAttributes" || c.op == "DescribeTable" && strings.Contains(c.body, "-source") {
			return http.StatusBadRequest, `{"__type":"com.amazonaws#AccessDeniedException","message":"no right"}`
		}
		return 0, ""
	})
	text, _ = program.Run(t, cli.ExitOK, live...)
	wants(t, text,
		"not checked: source.table: table "+name+"-source: because the credentials do not allow DynamoDB DescribeTable",
		"not checked: dead_letters.queue: queue "+name+"-dead: because the credentials do not allow SQS "+
			"GetQueueAttributes")
	calls.answers(nil)

	wrong := write(t, strings.NewReplacer(
		"ttl_attribute: expires", "ttl_attribute: gone", "{PK: PAID}", "{PK: PAID, SK: N}", "name: "+name, "name: other",
	).Replace(fmt.Sprintf(liveShop, name)))
	text, _ = program.Run(t, cli.ExitConfig, "validate", "-c", wrong, "--live", "-o", "json")
	var v validation
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if v.Valid || v.Live == nil || v.Live.Account != "123456789012" || len(v.Live.NotChecked) != 1 {
		t.Errorf("it prints %s", text)
	}
	wants(t, v.Errors.Error(),
		"source.ttl_attribute: the TTL attribute of the table "+name+"-source is expires, and the file has gone; "+
			"write ttl_attribute: expires",
		"its key is PK (S), and PK (S), SK (S) is needed: name another table, or change the key in the configuration")
	if len(v.Errors) != 2 {
		t.Errorf("there are %d problems: %v", len(v.Errors), v.Errors)
	}
}

// --create does not recreate a view table that was deleted.
func TestLive_Lost(t *testing.T) {
	calls, name := servers(t)
	client := tablesOf(t, name)
	file := write(t, fmt.Sprintf(`version: 1
name: %[1]s
source: {table: %[1]s-source}
leases: {table: %[1]s-leases}
state: {table: %[1]s-state}
sinks: {rows: {view: {table: %[1]s-rows, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}}
`, name))
	createSource(t, client, name, "PK", "")
	_, said := program.Run(t, cli.ExitConfig, "validate", "-c", file, "--live")
	enable := "aws dynamodb update-table --table-name " + name +
		"-source --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"
	wants(t, said, "source.table: the stream of the table "+name+"-source is missing; `"+enable+"` enables one")
	if _, err := client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:           awssdk.String(name + "-source"),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: new(true), StreamViewType: "NEW_AND_OLD_IMAGES"},
	}); err != nil {
		t.Fatal(err)
	}
	item := map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "a"}, "Status": &types.AttributeValueMemberS{Value: "open"},
	}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: awssdk.String(name + "-source"), Item: item,
	}); err != nil {
		t.Fatal(err)
	}
	program.Run(t, cli.ExitOK, "consume", "-c", file, "--live", "--create", "--health", "off", "--exit-when-idle", "200ms")
	drop(t, client, name+"-rows")
	calls.taken()
	_, said = program.Run(t, cli.ExitConfig, "validate", "-c", file, "--live")
	for _, want := range []string{
		"table " + name + "-rows is missing, and the state knows what the sink wrote there: it was deleted",
		"`tablewake adopt --sink rows`",
	} {
		if !strings.Contains(said, want) || strings.Contains(said, "creates it") {
			t.Errorf("without %q: %s", want, said)
		}
	}
	calls.onlyReads(t)
}

// A missing index is not a problem, because a start creates it. A server that does not answer is a problem.
func TestLive_Search(t *testing.T) {
	calls, name := servers(t)
	createSource(t, tablesOf(t, name), name, "PK", types.StreamViewTypeNewAndOldImages)
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("validate calls %s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		found := strings.HasPrefix(r.URL.Path, "/_scripts/") || strings.HasPrefix(r.URL.Path, "/tablewake/_doc/")
		if !found { // the request lists indexes
			fmt.Fprint(w, `{}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"found":false}`)
	}))
	defer empty.Close()
	text := `version: 1
name: %[1]s
source: {table: %[1]s-source}
connections: {os: {opensearch: '%[2]s', auth: none}}
sinks:
  docs: {search: {connection: os, index: %[1]s}}
  many: {search: {connection: os, index: 'docs-{Tenant|index_name}', create: on_demand, max_indexes: 3}}
`
	file := write(t, fmt.Sprintf(text, name, empty.URL))
	out, _ := program.Run(t, cli.ExitOK, "validate", "-c", file, "--live")
	wants(t, out,
		"checked: sinks.docs: index "+name+" at "+empty.URL+": the index "+name+" is missing, and a start creates it",
		"the index docs-{Tenant|index_name} is missing, and its first document creates it",
		"not checked: rights of sinks.docs at its server: because only the server knows them, "+
			"and a request that shows them would write")
	calls.onlyReads(t)
	file = write(t, fmt.Sprintf(text, name, "http://127.0.0.1:1"))
	_, said := program.Run(t, cli.ExitConfig, "validate", "-c", file, "--live")
	if strings.Count(said, "opensearch: no answer") != 1 || !strings.Contains(said, "sinks.docs: opensearch:") {
		t.Errorf("a server that does not answer: %s", said)
	}
}

// validate checks that the table writes to the Kinesis stream that the function reads. For a function, a replay of
// nothing creates what is missing.
func TestLive_Kinesis(t *testing.T) {
	calls, name := servers(t)
	createSource(t, tablesOf(t, name), name, "PK", "")
	const stream = "arn:aws:kinesis:us-east-1:123456789012:stream/changes"
	file := write(t, fmt.Sprintf(`version: 1
name: %[1]s
source: {table: %[1]s-source, kinesis: '%[2]s'}
attributes: {PK: N}
sinks: {log: {archive: {bucket: %[1]s}}}
`, name, stream))
	for status, want := range map[string]string{
		"ACTIVE": "checked: source.kinesis: stream " + stream + ": the table " + name + "-source writes to it",
		"DISABLED": "source.kinesis: the table " + name + "-source does not write to it; " +
			"`aws dynamodb enable-kinesis-streaming-destination --table-name " + name + "-source --stream-arn " + stream +
			"` enables that",
	} {
		calls.answers(func(c call) (int, string) {
			if c.op != "DescribeKinesisStreamingDestination" {
				return 0, ""
			}
			return http.StatusOK, `{"TableName":"` + name + `-source","KinesisDataStreamDestinations":[{"StreamArn":"` + stream +
				`","DestinationStatus":"` + status + `"}]}`
		})
		out, said := program.Run(t, cli.ExitConfig, "validate", "-c", file, "--live")
		wants(t, out+said, want, "source.table: the type of PK is S, and attributes declares N; correct attributes",
			"sinks.log: bucket "+name+" is missing in account 123456789012, Region us-east-1; "+
				"`tablewake replay -c "+file+" --live --create /dev/null` creates it")
		calls.onlyReads(t)
	}
}

// --table reads a page of each segment of the table, and writes nothing.
func TestTable(t *testing.T) {
	calls, name := servers(t)
	client := tablesOf(t, name)
	createSource(t, client, name, "PK", "")
	table := name + "-source"
	file := write(t, fmt.Sprintf(`version: 1
name: shop
source: {table: %s}
state: {table: state}
sinks: {rows: {view: {table: rows, key: {PK: '{Statu}', SK: '{@key}'}}}}
`, table))
	_, said := program.Run(t, cli.ExitFailure, "validate", "-c", file, "--table", table)
	wants(t, said, "the table "+table+" has no items to learn from")

	const items, batch = 1500, 25
	for from := 0; from < items; from += batch {
		var puts []types.WriteRequest
		for i := range batch {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
				"PK":     &types.AttributeValueMemberS{Value: fmt.Sprintf("o%04d", from+i)},
				"Status": &types.AttributeValueMemberS{Value: "open"},
			}}})
		}
		in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts}}
		if _, err := client.BatchWriteItem(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	calls.taken()
	text, said := program.Run(t, cli.ExitOK, "validate", "-c", file, "--table", table)
	wants(t, said, "sinks.rows.view.key.PK: no item of the sample has 'Statu'; did you mean Status?")
	if !strings.Contains(text, "its names were checked against ") || !strings.Contains(said, " of the table "+table) {
		t.Errorf("it prints %s%s", text, said)
	}
	if count := calls.onlyReads(t); count["Scan"] != 32 || count["DescribeTable"] != 1 || len(count) != 2 {
		t.Errorf("it calls %v, want a page of each of 32 segments", count)
	}
	text, _ = program.Run(t, cli.ExitOK, "validate", "-c", file, "--table", table, "-o", "json")
	var v validation
	err := json.Unmarshal([]byte(text), &v)
	if err != nil || !v.Valid || v.Sampled < 500 || v.Sampled > 1024 || len(v.Warnings) != 1 {
		t.Errorf("of %d items it prints %s (%v)", items, text, err)
	}
	_, said = program.Run(t, cli.ExitFailure, "validate", "-c", file, "--table", name+"-absent")
	if !strings.Contains(said, "check name, Region and account") {
		t.Errorf("of a table that is missing it says %s", said)
	}
}
