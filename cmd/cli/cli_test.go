package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/cmd/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const configuration = `version: 1
name: shop
source: {table: shop, polling: {max_idle: 50ms}}
entities:
  Order: {key: {PK: 'ORDER#{OrderId}'}}
detect: {vip: {func: isVIP}}
sinks:
  orders: {view: {table: orders, of: Order, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}
  customers: {custom: {name: crm, with: {url: 'https://crm.example'}}}
state: {table: state}
dead_letters: {bucket: letters}
`

const tests = `keys: [PK]
tests:
  - name: an order
    given:
      - new: {PK: ORDER#1, Status: paid}
    expect:
      rows:
        orders:
          - {PK: STATUS#paid, SK: 'ORDER%231'}
`

// program is a program with Go code of its own. It counts the calls of that code.
type program struct {
	t      *testing.T
	dir    string
	exts   []sinks.Extension
	made   int
	mu     sync.Mutex // guards the fields below: changes of different items come concurrently
	called int
	ops    string   // operations of the changes that the function was called with
	given  []string // keys of the changes that the Go sink got
}

var errRefused = errors.New("the customer is unknown")

// newProgram writes a configuration, its tests and two records into a folder. The Go sink refuses the second record.
func newProgram(t *testing.T) *program {
	t.Helper()
	p := &program{t: t, dir: t.TempDir()}
	p.exts = []sinks.Extension{
		sinks.With("crm", func(context.Context, struct {
			URL string `yaml:"url"`
		}) (pipeline.Sink, error) {
			p.made++
			return pipeline.SinkFunc(p.write), nil
		}),
		sinks.WithFunc("isVIP", func(dst []pipeline.Event, _ *record.Change) ([]pipeline.Event, error) {
			return append(dst, pipeline.Event{}), nil
		}),
		sinks.On("Order", func(_ context.Context, c sinks.TypedChange[struct {
			OrderID string `dynamodbav:"OrderId"`
		}]) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.called++
			p.ops += c.Op.String() + " "
			return nil
		}),
	}
	for name, text := range map[string]string{"tablewake.yaml": configuration, "shop_test.yaml": tests, "stream.jsonl": order("1") + order("2")} {
		if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func order(id string) string {
	return fmt.Sprintf(`{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","eventName":"INSERT","dynamodb":{"SequenceNumber":"10%s","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"ORDER#%[1]s"}},"NewImage":{"PK":{"S":"ORDER#%[1]s"},"Status":{"S":"paid"}}}}`+"\n", id)
}

func (p *program) path(name string) string { return filepath.Join(p.dir, name) }

func (p *program) write(_ context.Context, ds []pipeline.Delivery) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var failed pipeline.BatchError
	for i := range ds {
		p.given = append(p.given, string(ds[i].Change.Key))
		if strings.HasSuffix(string(ds[i].Change.Key), "2") {
			failed.Add(i, errRefused)
		}
	}
	return failed.OrNil()
}

// run runs a command line in a program with exts, and wants its exit code. DIR/ in the line stands for the folder.
func (p *program) run(code int, exts []sinks.Extension, line string) string {
	p.t.Helper()
	args := strings.Fields(strings.ReplaceAll(line, "DIR/", p.dir+"/"))
	var out bytes.Buffer
	if got := cli.Run(p.t.Context(), args, strings.NewReader(""), &out, &out, exts...); got != code {
		p.t.Errorf("%s: exit code %d, want %d\n%s", line, got, code, &out)
	}
	return out.String()
}

// Commands that plan make no Go sink, and call no function of an entity.
func TestRun_PlanningMakesNoSink(t *testing.T) {
	p := newProgram(t)
	for _, run := range []struct {
		line, want string
	}{
		{"validate -c DIR/tablewake.yaml", "2 sinks"},
		{"explain -c DIR/tablewake.yaml DIR/stream.jsonl", "customers: give the change to the Go sink crm"},
		{"explain -c DIR/tablewake.yaml --limit 1 DIR/stream.jsonl", "on_Order: call the function of Order"},
		{"explain -c DIR/tablewake.yaml -o json -n 1 DIR/stream.jsonl", `"detector":"vip"`},
		{"cost -c DIR/tablewake.yaml DIR/stream.jsonl", "of 2 changes"},
		{"template -c DIR/tablewake.yaml", "shop"},
		{"test -c DIR/tablewake.yaml", "1 test"},
		{"replay -c DIR/tablewake.yaml --local DIR/out DIR/stream.jsonl", "held back: customers, on_Order; --custom NAME runs a Go sink"},
		{"why -c DIR/tablewake.yaml --local DIR/out --key PK=ORDER#1 DIR/stream.jsonl", "[as it should be]"},
		{"plan -c DIR/tablewake.yaml --local DIR/out", "orders"},
	} {
		if out := p.run(0, p.exts, run.line); !strings.Contains(out, run.want) {
			t.Errorf("%s does not say %q:\n%s", run.line, run.want, out)
		}
	}
	if p.made > 0 || p.called > 0 {
		t.Errorf("%d Go sinks were made, and %d functions called", p.made, p.called)
	}
}

// replay runs the Go sinks that --custom names. A program without Go code reads their output, and names the Go code
// that it lacks.
func TestRun_Replay(t *testing.T) {
	p := newProgram(t)
	const replay = "replay -c DIR/tablewake.yaml --local DIR/out DIR/stream.jsonl "
	if out := p.run(2, p.exts, replay+"--custom orders"); !strings.Contains(out, "there are customers and on_Order") {
		t.Errorf("it says %s", out)
	}
	p.run(4, p.exts, replay+"--custom customers")
	if p.made != 1 || len(p.given) < 2 || p.called > 0 {
		t.Errorf("%d sinks were made and got %v, %d functions called", p.made, p.given, p.called)
	}
	p.run(0, p.exts, replay+"--custom on_Order")
	if p.made != 1 || p.called != 2 {
		t.Errorf("%d sinks were made, %d functions called", p.made, p.called)
	}
	const missing = "this program does not have the Go sink crm, the Go function isVIP"
	for line, want := range map[string]string{
		"query view --local DIR/out":                           "STATUS#paid",
		"query dead --local DIR/out":                           "the customer is unknown",
		"redrive -c DIR/tablewake.yaml --local DIR/out --list": "the customer is unknown",
		"explain -c DIR/tablewake.yaml DIR/stream.jsonl":       missing,
		"cost -c DIR/tablewake.yaml":                           missing,
		"validate -c DIR/tablewake.yaml":                       "is valid",
		"template -c DIR/tablewake.yaml":                       "shop",
		"audit -c DIR/tablewake.yaml --local DIR/out DIR/stream.jsonl --report DIR/audit.jsonl": "orders",
		replay: missing,
	} {
		if out := p.run(0, nil, line); !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", line, want, out)
		}
	}
	if out := p.run(6, nil, "status -c DIR/tablewake.yaml --local DIR/out --no-stream"); !strings.Contains(out, "dead letters: 1 of customers") {
		t.Errorf("status says %s", out)
	}
	if out := p.run(1, nil, replay+"--custom customers"); !strings.Contains(out, `no Go sink is named "crm": give it to cli.Main`) {
		t.Errorf("it says %s", out)
	}
	// A program without the Go sink leaves the letter for a program that has the Go sink.
	if out := p.run(4, nil, "redrive -c DIR/tablewake.yaml --local DIR/out"); !strings.Contains(out, "held back in this redrive") {
		t.Errorf("it says %s", out)
	}
	made := p.made
	if p.run(4, p.exts, "redrive -c DIR/tablewake.yaml --local DIR/out"); p.made != made+1 {
		t.Errorf("redrive made %d sinks", p.made-made)
	}
}

// consume runs the Go sinks, and calls the functions of entities.
func TestRun_Consume(t *testing.T) {
	p := newProgram(t)
	api := streamtest.New(streamtest.Options{})
	shop := api.AddStream("shop")
	key := `{"PK":{"S":"ORDER#1"}`
	shop.Put(shop.Shards()[0], streamtest.Record{Keys: key + "}", New: key + `,"Status":{"S":"paid"}}`})
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": server.URL, "AWS_ENDPOINT_URL_STS": server.URL,
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	} {
		t.Setenv(name, value)
	}
	const consume = "consume -c DIR/tablewake.yaml --local DIR/out --health off --exit-when-idle 200ms"
	if out := p.run(1, nil, consume); !strings.Contains(out, `no Go sink is named "crm": give it to cli.Main`) {
		t.Errorf("without the Go code it says %s", out)
	}
	p.run(0, p.exts, consume)
	if p.made != 1 || len(p.given) != 1 || p.called != 1 {
		t.Errorf("%d sinks were made and got %v, %d functions called", p.made, p.given, p.called)
	}
}

// backfill makes only the Go sinks, and calls only the functions, that it names. A second backfill gives them the items
// again.
func TestRun_Backfill(t *testing.T) {
	p := newProgram(t)
	if err := os.WriteFile(p.path("items.jsonl"), []byte(`{"Item":{"PK":{"S":"ORDER#1"},"Status":{"S":"paid"}}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(0, p.exts, "backfill -c DIR/tablewake.yaml --local DIR/out --items DIR/items.jsonl --keys PK")
	if out := p.run(0, nil, "query view --local DIR/out"); !strings.Contains(out, "STATUS#paid") || p.made > 0 || p.called > 0 {
		t.Errorf("%d Go sinks were made, %d functions called; the view has\n%s", p.made, p.called, out)
	}
	const backfill = "backfill -c DIR/tablewake.yaml --local DIR/out --items DIR/items.jsonl --keys PK --sink "
	if out := p.run(0, p.exts, backfill+"customers,on_Order --dry-run"); p.made > 0 || p.called > 0 ||
		!strings.Contains(out, "fill customers (Go sink crm), which is live") || !strings.Contains(out, "fill on_Order") {
		t.Errorf("a dry run made %d Go sinks, called %d functions, and says\n%s", p.made, p.called, out)
	}
	for n := 1; n <= 2; n++ {
		out := p.run(0, p.exts, backfill+"customers,on_Order")
		if !strings.Contains(out, "customers, on_Order: live") || p.made != n || len(p.given) != n || p.called != n {
			t.Errorf("run %d: %d Go sinks were made and got %v, %d functions called:\n%s", n, p.made, p.given, p.called, out)
		}
	}
	if p.ops != "SNAPSHOT SNAPSHOT " {
		t.Errorf("the function got %s", p.ops)
	}
	if out := p.run(0, p.exts, "plan -c DIR/tablewake.yaml --local DIR/out"); strings.Contains(out, "customers") {
		t.Errorf("plan says\n%s", out)
	}
	if out := p.run(2, nil, backfill+"customers"); !strings.Contains(out, "this program does not have the Go sink crm") {
		t.Errorf("a program without the Go code says\n%s", out)
	}
	// An item that the Go sink refuses is a dead letter.
	items := `{"Item":{"PK":{"S":"ORDER#2"},"Status":{"S":"paid"}}}` + "\n"
	if err := os.WriteFile(p.path("items.jsonl"), []byte(items), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run(4, p.exts, backfill+"customers")
	if out := p.run(0, nil, "query dead --local DIR/out"); !strings.Contains(out, "the customer is unknown") {
		t.Errorf("the dead letters are\n%s", out)
	}
	if out := p.run(4, p.exts, "redrive -c DIR/tablewake.yaml --local DIR/out"); len(p.given) != 4 {
		t.Errorf("redrive gave %v:\n%s", p.given, out)
	}
}

// The end of the context ends the command.
func TestRun_ContextEnds(t *testing.T) {
	p := newProgram(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	args := []string{"explain", "-c", p.path("tablewake.yaml"), p.path("stream.jsonl")}
	if code := cli.Run(ctx, args, strings.NewReader(""), &out, &out, p.exts...); code != 5 {
		t.Errorf("exit code %d: %s", code, &out)
	}
}

// Commands of a program with the Go code of a filter run that filter. They refuse a filter that may read images before
// a state sink. A program without the code shows plans without the filter, and writes nothing.
func TestRun_Filter(t *testing.T) {
	p := newProgram(t)
	text := strings.Replace(configuration, "sinks:\n", "filters: [{func: eu}]\nsinks:\n", 1)
	if err := os.WriteFile(p.path("tablewake.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	eu := func(c *record.Change) (bool, error) { return !strings.HasSuffix(string(c.Key), "2"), nil }
	with := func(opts ...sinks.FilterOption) []sinks.Extension {
		return append(p.exts[:len(p.exts):len(p.exts)], sinks.WithFilter("eu", eu, opts...))
	}
	for _, tt := range []struct {
		exts       []sinks.Extension
		code       int
		line, want string
	}{
		{with(sinks.KeysOnly()), 0, "validate -c DIR/tablewake.yaml", "2 sinks, 1 detector, 1 filter"},
		{with(sinks.KeysOnly()), 0, "explain -c DIR/tablewake.yaml DIR/stream.jsonl", "eu: drops it, counted as eu"},
		{with(sinks.KeysOnly()), 0, "test -c DIR/tablewake.yaml", "1 test"},
		{with(sinks.KeysOnly()), 0, "replay -c DIR/tablewake.yaml --local DIR/out DIR/stream.jsonl", "eu"},
		{with(sinks.KeysOnly()), 0, "audit -c DIR/tablewake.yaml --local DIR/out DIR/stream.jsonl --report DIR/a.jsonl", "orders"},
		{with(sinks.KeysOnly()), 0, "why -c DIR/tablewake.yaml --local DIR/out --key PK=ORDER#2 DIR/stream.jsonl", "drops"},
		{with(), 3, "validate -c DIR/tablewake.yaml", "give sinks.WithFilter the option sinks.KeysOnly()"},
		{with(), 1, "explain -c DIR/tablewake.yaml DIR/stream.jsonl", "reads more than keys above the state sink orders"},
		{p.exts, 3, "validate -c DIR/tablewake.yaml -o json", `no Go filter is named \"eu\"`},
		{nil, 0, "validate -c DIR/tablewake.yaml", "the Go filter eu: what that does is not checked"},
		{nil, 0, "explain -c DIR/tablewake.yaml DIR/stream.jsonl", "eu (Go code of another program): keeps it"},
		{nil, 0, "cost -c DIR/tablewake.yaml DIR/stream.jsonl", "the Go filter eu: what that does is not planned"},
		{nil, 0, "template -c DIR/tablewake.yaml", `a function of Go: Lambda cannot call it`},
		{nil, 1, "replay -c DIR/tablewake.yaml --local DIR/other DIR/stream.jsonl", `no Go filter is named "eu"`},
		{nil, 1, "audit -c DIR/tablewake.yaml --local DIR/out DIR/stream.jsonl", `no Go filter is named "eu"`},
	} {
		if out := p.run(tt.code, tt.exts, tt.line); !strings.Contains(out, tt.want) {
			t.Errorf("%s does not say %q:\n%s", tt.line, tt.want, out)
		}
	}
	if out := p.run(0, nil, "query view --local DIR/out"); !strings.Contains(out, "ORDER%231") || strings.Contains(out, "ORDER%232") {
		t.Errorf("the view has\n%s", out)
	}
	more := "sinks:\n  more: {view: {table: more, key: {PK: 'MORE#{@key}'}}}\n"
	text = strings.Replace(strings.Replace(text, "sinks:\n", more, 1), "detect: {vip: {func: isVIP}}\n", "", 1)
	if err := os.WriteFile(p.path("tablewake.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, code := range map[string]int{"test -c DIR/tablewake.yaml": 0, "plan -c DIR/tablewake.yaml --local DIR/out": 7} {
		if out := p.run(code, nil, line); !strings.Contains(out, "the Go filter eu: what that does is not planned") {
			t.Errorf("%s says\n%s", line, out)
		}
	}
}

// validate reports each place where the configuration does not match the Go code of the program.
func TestRun_ValidateCode(t *testing.T) {
	p := newProgram(t)
	other := sinks.On("Ordr", func(context.Context, sinks.TypedChange[struct{}]) error { return nil })
	for _, tt := range []struct {
		from, to string
		exts     []sinks.Extension
		want     string
	}{
		{"{name: crm", "{name: crmm", p.exts, `no Go sink is named "crmm"`},
		{"with: {url:", "with: {fle:", p.exts, "field fle not found"},
		{"{name: crm", "{name: crm", append(p.exts[:len(p.exts):len(p.exts)], other), "Ordr"},
	} {
		text := strings.Replace(configuration, tt.from, tt.to, 1)
		if !strings.Contains(text, tt.to) {
			t.Fatalf("the configuration has no %s", tt.from)
		}
		if err := os.WriteFile(p.path("tablewake.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := p.run(3, tt.exts, "validate -c DIR/tablewake.yaml"); !strings.Contains(out, tt.want) {
			t.Errorf("validate does not say %q:\n%s", tt.want, out)
		}
	}
}
